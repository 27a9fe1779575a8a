import { checkInteger } from '../../../core/base/checks.ts';
import type { LambdaContext, SqsBatchResponse } from './events.ts';

export interface WorkerOptions {
  /** Jobs of one event that run at the same time. @default 10 */
  readonly concurrency?: number;
  /** Running jobs are aborted so long before the function's timeout, to leave time to settle. @default 2_000 */
  readonly marginMs?: number;
  /**
   * The queues' visibility timeout. Needed only where it is shorter than the function's timeout (AWS wants it six times
   * as long): leases are then renewed. @default longer than the function may run
   */
  readonly visibilityMs?: number;
}

/** Rejects only when nothing was run: the event is not one of ours. */
export type Worker = (event: unknown, context: LambdaContext) => Promise<SqsBatchResponse>;

/** Throws `CONFIG` when the function starts, not with its first event. */
export function checkWorkerOptions({ concurrency, marginMs, visibilityMs }: WorkerOptions): void {
  if (concurrency !== undefined) checkInteger('concurrency', concurrency, 1);
  if (marginMs !== undefined) checkInteger('marginMs', marginMs, 0);
  if (visibilityMs !== undefined) checkInteger('visibilityMs', visibilityMs, 1_000);
}
