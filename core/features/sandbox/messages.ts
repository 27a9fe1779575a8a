/** The messages between a worker and its isolate: plain data that survives a structured clone. */

import type { Thrown } from '../../base/thrown.ts';
import type { RunFacts } from '../../kernel/app/job.ts';
import type { Output } from '../../kernel/attempt/output.ts';
import type { LogEntry } from './logging.ts';

/** An isolate runs one job at a time, so a message needs no number to say which. */
export type ToIsolate =
  | { readonly type: 'run'; readonly facts: RunFacts; readonly input: unknown }
  | { readonly type: 'abort'; readonly reason: Thrown }
  /** The worker has read this much of the log lines. */
  | { readonly type: 'read'; readonly bytes: number }
  /** Do the part of this call that stays in the isolate, such as the code of a step. */
  | { readonly type: 'work'; readonly ask: number; readonly given: unknown }
  | { readonly type: 'answer'; readonly ask: number; readonly value: unknown }
  | { readonly type: 'refusal'; readonly ask: number; readonly error: Thrown };

export type FromIsolate =
  | ({ readonly type: 'log' } & LogEntry)
  /** Log lines are dropped. */
  | { readonly type: 'overflow' }
  /**
   * A call of a member of the context. `begin` is not one: everything is loaded and checked, and the handler asks to begin. It is refused if the
   * attempt has ended meanwhile.
   */
  | { readonly type: 'ask'; readonly ask: number; readonly member: string; readonly args: readonly unknown[] }
  /** `work` has returned. */
  | { readonly type: 'did'; readonly ask: number; readonly value: unknown }
  /** `work` has thrown. */
  | { readonly type: 'undone'; readonly ask: number; readonly error: Thrown }
  | ({ readonly type: 'returned'; readonly output: Output } & MemoryUse)
  /** `spoiled`: nothing more can run in this isolate. */
  | ({ readonly type: 'failed'; readonly error: Thrown; readonly spoiled: boolean } & MemoryUse)
  /** An uncaught error is about to end the process. */
  | { readonly type: 'crashing'; readonly error: Thrown };

export interface MemoryUse {
  /** Used heap at the end of the attempt. */
  readonly heapBytes: number;
  /** Peak resident memory of a process. For a thread the same as `heapBytes`, because it shares its process. */
  readonly peakBytes: number;
}
