/** Dead letters in bulk: which ones are meant, each once, and at the wanted rate. */

import type { Clock } from '../../../core/base/clock.ts';
import type { DeadLetter, DeadLetters } from '../../../core/contract/admin.ts';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import { createWaiters } from '../../backends/shared/waiters.ts';
import { duration, integer, name, oneOf } from '../config/values.ts';
import type { Values } from '../definition.ts';

const reasons: readonly AbandonReason[] = [
  'permanent',
  'exhausted',
  'crash-loop',
  'rejected',
  'expired',
  'cancelled',
];

export const filterFlags = {
  job: { flags: '--job <name>', text: 'only of this job', parse: name },
  reason: {
    flags: '--reason <reason>',
    text: `only those with this reason: ${reasons.join(', ')}`,
    parse: oneOf(reasons),
  },
  olderThan: {
    flags: '--older-than <duration>',
    text: 'only those that died at least this long ago',
    parse: duration(),
  },
  newerThan: {
    flags: '--newer-than <duration>',
    text: 'only those that died within this time',
    parse: duration(),
  },
} as const;

export const rateFlag = {
  flags: '--rate <n>',
  text: 'with --all: about so many per second, evenly; by default all at once',
  parse: integer(1, 10_000),
} as const;

export type Filter = Partial<Values<typeof filterFlags>> & { readonly queue?: string | undefined };

/** Whether more than the queue is asked for, which counts cannot tell. */
export const isNarrow = ({ job, reason, olderThan, newerThan }: Filter): boolean =>
  [job, reason, olderThan, newerThan].some((one) => one !== undefined);

function matches({ job, reason, olderThan, newerThan }: Filter, letter: DeadLetter, now: number): boolean {
  const ageMs = now - letter.diedAt;
  return (
    (job === undefined || letter.job === job) &&
    (reason === undefined || letter.reason === reason) &&
    (olderThan === undefined || ageMs >= olderThan) &&
    (newerThan === undefined || ageMs <= newerThan)
  );
}

const pageSize = 500;

/** Every dead letter once: one that is run again and dies again at once must not be found for ever. */
export async function* pagesOf(
  letters: DeadLetters,
  filter: Filter,
  now: number,
): AsyncGenerator<DeadLetter[]> {
  const seen = new Set<string>();
  const { queue } = filter;
  let max = pageSize;
  for (;;) {
    const page = await letters.list({ ...(queue === undefined ? {} : { queue }), max });
    const fresh = page.filter((letter) => !seen.has(letter.id));
    for (const { id } of fresh) seen.add(id);
    if (fresh.length > 0) yield fresh.filter((letter) => matches(filter, letter, now));
    else if (page.length < max) return;
    else max *= 2; // the newest are those that died again: look behind them
  }
}

/** The newest that match. */
export async function firstOf(
  letters: DeadLetters,
  filter: Filter,
  max: number,
  now: number,
): Promise<DeadLetter[]> {
  const { queue } = filter;
  if (!isNarrow(filter)) return letters.list({ ...(queue === undefined ? {} : { queue }), max });
  const found: DeadLetter[] = [];
  for await (const page of pagesOf(letters, filter, now)) {
    found.push(...page);
    if (found.length >= max) break;
  }
  return found.slice(0, max);
}

/**
 * Whoever takes one dead letter from SQS or Service Bus takes others in passing, and their deliveries are counted. So
 * however slowly a queue is to be emptied, it is passed through so often at most.
 */
const mostPasses = 200;

/** @param total about how many there are */
export function paceOf(
  rate: number | undefined,
  total: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
) {
  const size = Math.max(rate ?? 0, Math.ceil(total / mostPasses));
  const pause = createWaiters(clock);
  let freeAt = clock.now();
  return {
    /** A page, in the pieces that go out together. The first are the oldest: they lie at the front of a queue. */
    piecesOf(ids: readonly string[]): string[][] {
      if (rate === undefined) return [[...ids]];
      const oldestFirst = ids.toReversed();
      return Array.from({ length: Math.ceil(ids.length / size) }, (_, i) =>
        oldestFirst.slice(i * size, (i + 1) * size),
      );
    },
    /** Until as many more may go out. Resolves early when the signal aborts. */
    async next(sent: number): Promise<void> {
      if (rate === undefined) return;
      const delayMs = freeAt - clock.now();
      freeAt = Math.max(freeAt, clock.now()) + (sent * 1_000) / rate;
      await pause.wait(delayMs, signal);
    },
  };
}
