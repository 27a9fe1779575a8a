/** Options of the simulation: the app, and settings of a deployment. */

import type { Around, SimulationEvent } from '../frame.ts';

interface Surroundings {
  /** A temporary folder. */
  readonly folder: string;
  /** Connection string of the namespace in this process. */
  readonly connectionString: string;
}

/** `functions` of `export const simulation` of a longshore.config.ts. */
export interface FunctionsSimulationConfig {
  /** The app's main file, which calls `azure()`; relative to the config. */
  readonly entry: string;
  /** Starts the services that the jobs need, before the app is loaded. */
  start?(where: Surroundings): Promise<Around>;
}

export interface FunctionsSimulationOptions {
  /** A path. */
  readonly entry: string;
  /** Port of the namespace; 0 = any free port. */
  readonly busPort: number;
  /** Port of the HTTP functions; 0 = any free port. */
  readonly httpPort: number;
  readonly lockMs: number;
  /** After this many deliveries Service Bus moves a message to the dead letters. */
  readonly maxDeliveries: number;
  /** Concurrent calls per queue. @default the value of host.json */
  readonly concurrency: number | undefined;
  readonly timers: boolean;
  readonly exitWhenIdle: boolean;
  start?(where: Surroundings): Promise<Around>;
  on(event: SimulationEvent): void;
}
