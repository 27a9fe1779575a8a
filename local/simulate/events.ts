/** Events of every simulation, and the services around one. */

export interface Around {
  /** Set for the functions, beside what the simulation itself sets. */
  readonly env?: Readonly<Record<string, string>>;
  /** Enqueues something to watch; the simulation is not idle before it has ended. */
  play?(signal: AbortSignal): Promise<void>;
  stop?(): Promise<void>;
}

export type SimulationEvent =
  /** Shown at the start: lines of a subject and a sentence. */
  | { readonly type: 'ready'; readonly lines: readonly (readonly [what: string, text: string])[] }
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
  /** `enqueued`: `null` = it does not say. */
  | { readonly type: 'ticked'; readonly enqueued: number | null; readonly error: Error | null }
  | { readonly type: 'requested'; readonly method: string; readonly path: string; readonly status: number }
  | { readonly type: 'printed'; readonly line: string }
  /** The broker has moved messages by itself, because they were delivered too often. */
  | { readonly type: 'redriven'; readonly queue: string; readonly messages: number }
  /** Lambda has taken them for a loop, and moved them to the dead letters. */
  | { readonly type: 'stopped'; readonly queue: string; readonly messages: number }
  | { readonly type: 'stopping'; readonly running: number };

export interface SimulationSummary {
  readonly reason: 'idle' | 'signal';
  readonly invocations: number;
  /** Messages given to the worker, those that came again included. */
  readonly messages: number;
  readonly done: number;
  /** Reported in `batchItemFailures`, where there is such a report. */
  readonly reportedFailed?: number;
  /** Invocations that failed as a whole. */
  readonly failedInvocations: number;
  readonly redriven: number;
  readonly ticks: number;
  /** Over HTTP, where it is simulated. */
  readonly requests?: number;
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

type Counts = {
  -readonly [K in keyof SimulationSummary as SimulationSummary[K] extends number | undefined
    ? K
    : never]: SimulationSummary[K];
};

/** Counts what happens on its way to `on`: only what `counts` has is counted. */
export function counting(
  counts: Omit<Counts, 'durationMs'>,
  on: (event: SimulationEvent) => void,
): (event: SimulationEvent) => void {
  return (event) => {
    if (event.type === 'invoked') {
      counts.invocations++;
      counts.messages += event.messages;
    } else if (event.type === 'answered') {
      counts.done += event.done;
      if (counts.reportedFailed !== undefined) counts.reportedFailed += event.failed;
    } else if (event.type === 'failed') counts.failedInvocations++;
    else if (event.type === 'redriven' || event.type === 'stopped') counts.redriven += event.messages;
    else if (event.type === 'ticked') counts.ticks++;
    else if (event.type === 'requested' && counts.requests !== undefined) counts.requests++;
    on(event);
  };
}
