/** How late each schedule is, by what the ticks of this process report. */

import type { EventListener } from '../../core/base/events.ts';
import type { App } from '../../core/kernel/app/app.ts';
import type { Registrar, Sample } from './registrar.ts';

/** Schedules that this process does not tick are left out: it knows nothing of them. */
export function gaugeSchedules({ gauge }: Registrar, { schedules, clock }: App): EventListener {
  /** Up to when each is known to have enqueued what it owed. */
  const checkedAt = new Map<string, number>();

  async function read(): Promise<Sample[]> {
    const now = clock.now();
    const samples: Sample[] = [];
    for (const { name, nextAfter } of schedules) {
      const since = checkedAt.get(name);
      if (since === undefined) continue;
      const owedAt = await nextAfter(since).catch(() => null);
      samples.push([{ schedule: name }, owedAt === null ? 0 : Math.max(0, now - owedAt) / 1000]);
    }
    return samples;
  }
  const help = 'How long ago the first moment was that should have been enqueued and was not.';
  gauge(read, 'queue_schedule_lag_seconds', help, ['schedule']);

  return (event) => {
    if (event.type === 'schedule.checked') checkedAt.set(event.schedule, event.at);
    // The first tick of this process: what was owed before it is not known.
    else if (event.type === 'schedule.failed' && !checkedAt.has(event.schedule))
      checkedAt.set(event.schedule, clock.now());
  };
}
