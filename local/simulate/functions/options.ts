/** What is simulated, and with which settings of a deployment. */

import type { Around, SimulationEvent } from '../frame.ts';

interface Surroundings {
  /** Temporary. */
  readonly folder: string;
  /** Of the namespace, which is in this process. */
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
  /** Of the namespace; 0 = any free one. */
  readonly busPort: number;
  /** Of the HTTP functions; 0 = any free one. */
  readonly httpPort: number;
  readonly lockMs: number;
  /** Deliveries after which Service Bus itself moves a message to the dead letters. */
  readonly maxDeliveries: number;
  /** Of one queue. @default what host.json says */
  readonly concurrency: number | undefined;
  readonly timers: boolean;
  readonly exitWhenIdle: boolean;
  start?(where: Surroundings): Promise<Around>;
  on(event: SimulationEvent): void;
}
