import { config } from '../../base/errors.ts';
import type { AlertHost, AttemptNumbers } from '../../kernel/app/alerts.ts';
import { stepOf } from '../../kit/records/metric-steps.ts';
import { sums } from '../metrics/roll-up.ts';
import { failedOf, ranOf, sumOf } from '../metrics/tally.ts';

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
    const tally = sumOf(jobs);
    return { queue, attempts: ranOf(tally), failed: failedOf(tally), dead: tally.dead };
  });
}
