/** What is simulated, and with which numbers of a deployment. */

export interface Around {
  /** Set for the functions, beside what the simulation itself sets. */
  readonly env?: Readonly<Record<string, string>>;
  /** Enqueues something to watch; the simulation is not idle before it has ended. */
  play?(signal: AbortSignal): Promise<void>;
  stop?(): Promise<void>;
}

export interface Surroundings {
  /** Temporary, and the `os.tmpdir()` of the functions. */
  readonly folder: string;
  readonly sqsEndpoint: string;
  /** What stands before every queue's name. */
  readonly queueUrl: string;
}

/** Lanes of queues, each a queue of SQS of its own, `<queue>-<lane>`. */
export type Lanes = Readonly<Record<string, readonly string[]>>;

/** `export const simulation` of a longshore.config.ts. */
export interface SimulationConfig {
  /** The file that exports `worker` and, if it has one, `schedule`; relative to the config. */
  readonly entry: string;
  /** As given to `sqs()`, by names: `{ mail: ['high'] }`. */
  readonly lanes?: Lanes;
  /** Makes `main.mjs` in the folder as your deployment does. @default esbuild, all in one file */
  build?(folder: string): Promise<unknown>;
  /** Starts what the jobs need around them. */
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
  /** Environments of the worker, that is invocations at the same time. */
  readonly concurrency: number;
  readonly schedules: boolean;
  readonly exitWhenIdle: boolean;
  /** What the functions see of the outer environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  build(folder: string): Promise<unknown>;
  start?(where: Surroundings): Promise<Around>;
  on(event: SimulationEvent): void;
}

export type SimulationEvent =
  | { readonly type: 'ready'; readonly endpoint: string; readonly queueUrl: string }
  | {
      readonly type: 'invoked';
      readonly queue: string;
      readonly messages: number;
      /** Of these, delivered before. */
      readonly again: number;
    }
  | {
      readonly type: 'answered';
      readonly queue: string;
      readonly done: number;
      readonly failed: number;
      readonly durationMs: number;
    }
  /** The whole batch comes back. */
  | {
      readonly type: 'failed';
      readonly queue: string;
      readonly messages: number;
      readonly error: Error;
      readonly durationMs: number;
    }
  | { readonly type: 'ticked'; readonly enqueued: number; readonly error: Error | null }
  | { readonly type: 'printed'; readonly line: string }
  /** SQS has moved messages by itself, because they were received too often. */
  | { readonly type: 'redriven'; readonly queue: string; readonly messages: number }
  | { readonly type: 'stopping'; readonly running: number };

export interface SimulationSummary {
  readonly reason: 'idle' | 'signal';
  readonly invocations: number;
  /** Messages given to the worker, those that came again included. */
  readonly messages: number;
  readonly done: number;
  /** Reported in `batchItemFailures`. */
  readonly reportedFailed: number;
  /** Invocations that failed as a whole. */
  readonly failedInvocations: number;
  readonly redriven: number;
  readonly ticks: number;
  /** By queue, at the end. */
  readonly queues: Readonly<Record<string, QueueCounts>>;
  readonly durationMs: number;
}

export interface QueueCounts {
  readonly ready: number;
  readonly delayed: number;
  /** Received and not deleted: running, or waiting for a retry. */
  readonly hidden: number;
  readonly dead: number;
}
