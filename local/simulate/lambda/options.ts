/** Options of the simulation: the functions, and settings of a deployment. */

import type { Around, SimulationEvent } from '../frame.ts';

interface Surroundings {
  /** A temporary folder, which is also the `os.tmpdir()` of the functions. */
  readonly folder: string;
  readonly sqsEndpoint: string;
  /** URL prefix of every queue. */
  readonly queueUrl: string;
  /** The table of `dynamoStore()`, if the functions use it and the environment names no DynamoDB. */
  readonly table?: string;
  readonly dynamoEndpoint?: string;
}

/** Lanes by queue. Each lane is an SQS queue `<queue>-<lane>`. */
type Lanes = Readonly<Record<string, readonly string[]>>;

/** `export const simulation` of a longshore.config.ts. */
export interface SimulationConfig {
  /** The file that exports `worker` and, optionally, `schedule`; relative to the config. */
  readonly entry: string;
  /** The lanes given to `sqs()`, by queue: `{ mail: ['high'] }`. */
  readonly lanes?: Lanes;
  /** `RecursiveLoop` of the function in your template. @default 'Terminate', the default of AWS */
  readonly recursiveLoop?: 'Allow' | 'Terminate';
  /** Creates `main.mjs` in the folder like your deployment. @default as `longshore package aws` does, with readable code */
  build?(folder: string): Promise<unknown>;
  /** Starts the services that the jobs need. */
  start?(where: Surroundings): Promise<Around>;
}

interface Built {
  /** Whether the functions call `dynamoStore()`. */
  readonly usesDynamo: boolean;
}

export interface SimulationOptions {
  readonly queues: readonly string[];
  readonly lanes: Lanes;
  /** Prefix of the queue names. */
  readonly prefix: string;
  /** Endpoint of an SQS on this machine; `null` = an SQS in this process. */
  readonly endpoint: string | null;
  /** Timeout of the function in ms. */
  readonly timeoutMs: number;
  /** Visibility timeout of the queues in ms, a whole number of seconds. */
  readonly visibilityMs: number;
  /** After this many deliveries SQS moves a message to the dead letters. */
  readonly maxReceives: number;
  readonly batchSize: number;
  readonly recursiveLoop: 'Allow' | 'Terminate';
  /** Maximum number of concurrent invocations of the worker. */
  readonly concurrency: number;
  /** Whether `schedule` is called once a minute. */
  readonly schedules: boolean | 'if exported';
  readonly exitWhenIdle: boolean;
  /** Environment variables for the functions. */
  readonly env: Readonly<Record<string, string | undefined>>;
  build(folder: string): Promise<Built | undefined>;
  start?(where: Surroundings): Promise<Around>;
  on(event: SimulationEvent): void;
}
