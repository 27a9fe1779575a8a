import type { AlertHost, AttemptNumbers } from '../app/alerts.ts';
import { config } from '../base/errors.ts';
import { sums } from '../metrics/roll-up.ts';
import { stepOf } from '../metrics/steps.ts';

/** Attempts that ended in the last whole minutes, per queue. Throws `CONFIG` where no numbers are kept. */
export async function attemptsIn(
  { stores, backend }: Pick<AlertHost, 'stores' | 'backend'>,
  now: number,
  spanMs: number,
): Promise<AttemptNumbers[]> {
  const { metrics } = stores;
  if (!metrics)
    throw config(
      `Backend "${backend.name}" keeps no numbers of attempts: give it a store that does, for example sqliteStore().`,
    );
  // The minute under way is left out: its numbers are still arriving.
  const to = stepOf('minute', now);
  const all = [...sums(await metrics.read({ step: 'minute', from: to - spanMs, to })).values()];
  return [...Map.groupBy(all, ({ queue }) => queue)].map(([queue, jobs]) => {
    const sum = (of: (one: (typeof jobs)[number]['tally']) => number): number =>
      jobs.reduce((total, { tally }) => total + of(tally), 0);
    return {
      queue,
      attempts: sum(({ done, retried, dead }) => done + retried + dead),
      failed: sum(({ retried, dead }) => retried + dead),
      dead: sum(({ dead }) => dead),
    };
  });
}
