/** How fast letters go out, and how many together. */

import { type Clock, sleep } from '../base/clock.ts';

/**
 * Whoever takes one dead letter from SQS or Service Bus takes others in passing, and their deliveries are counted. So
 * however slowly a queue is to be emptied, it is passed through so often at most.
 */
const mostPasses = 200;
const mostTogether = 500;

export function paceOf(
  perSecond: number | undefined,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal | undefined },
) {
  let freeAt = clock.now();
  return {
    /**
     * How many go out together.
     * @param inPasses of how many letters, where the queue is passed through for each group; `null` = letters are found by their ids
     */
    sizeOf(inPasses: number | null): number {
      const evenly = perSecond === undefined ? Infinity : Math.max(1, Math.floor(perSecond));
      if (inPasses === null) return Math.min(mostTogether, evenly);
      return Math.max(evenly, Math.ceil(inPasses / mostPasses));
    },
    /** Until as many more may go out. */
    async next(count: number): Promise<void> {
      if (perSecond === undefined) return;
      const delayMs = freeAt - clock.now();
      freeAt = Math.max(freeAt, clock.now()) + (count * 1_000) / perSecond;
      await sleep(clock, delayMs, signal);
    },
  };
}
