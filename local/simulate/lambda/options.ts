/** What is simulated, and with which settings of a deployment. */

import type { Around, SimulationEvent } from '../frame.ts';

interface Surroundings {
  /** Temporary, and the `os.tmpdir()` of the functions. */
  readonly folder: string;
  readonly sqsEndpoint: string;
  /** What stands before every queue's name. */
  readonly queueUrl: string;
}

/** Lanes of queues. Each is a queue of SQS, `<queue>-<lane>`. */
type Lanes = Readonly<Record<string, readonly string[]>>;

/** `export const simulation` of a longshore.config.ts. */
export interface SimulationConfig {
  /** The file that exports `worker` and, if it has one, `schedule`; relative to the config. */
  readonly entry: string;
  /** As given to `sqs()`, by names: `{ mail: ['high'] }`. */
  readonly lanes?: Lanes;
  /** As of the function in your template. @default 'Terminate', as AWS has it */
  readonly recursiveLoop?: 'Allow' | 'Terminate';
  /** Makes `main.mjs` in the folder as your deployment does. @default esbuild, all in one file */
  build?(folder: string): Promise<unknown>;
  /** Starts the services that the jobs need. */
  start?(where: Surroundings): Promise<Around>;
}

export interface SimulationOptions {
  readonly queues: readonly string[];
  readonly lanes: Lanes;
  /** Of the queues' names. */
  readonly prefix: string;
  /** On this machine; `null` = an SQS in this process. */
  readonly endpoint: string | null;
  /** Of the function, ms. */
  readonly timeoutMs: number;
  /** Of the queues, whole seconds in ms. */
  readonly visibilityMs: number;
  /** Deliveries after which SQS itself moves a message to the dead letters. */
  readonly maxReceives: number;
  readonly batchSize: number;
  readonly recursiveLoop: 'Allow' | 'Terminate';
  /** Environments of the worker, that is invocations at the same time. */
  readonly concurrency: number;
  /** Whether `schedule` is called once a minute: always, or where it is exported. */
  readonly schedules: boolean | 'if exported';
  readonly exitWhenIdle: boolean;
  /** What the functions see of the outer environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  build(folder: string): Promise<unknown>;
  start?(where: Surroundings): Promise<Around>;
  on(event: SimulationEvent): void;
}
