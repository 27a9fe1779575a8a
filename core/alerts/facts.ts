/** What the conditions ask, each thing once per evaluation and with an end. */

import type { AlertFacts, AlertHost } from '../app/alerts.ts';
import { config, LongshoreError } from '../base/errors.ts';
import { within } from '../base/within.ts';
import { onDemand } from '../kit/lazy.ts';
import { healthyWithinMs } from '../kit/worker-state.ts';
import { readCursor } from '../scheduler/cursor.ts';
import { attemptsIn } from './attempts.ts';

export const askMs = 5_000;

export function factsOf(client: AlertHost, where: 'worker' | 'function', now: number): AlertFacts {
  const { app, backend, stores } = client;
  const { queues, schedules, clock } = app;
  const inTime = <T>(what: string, ask: () => Promise<T>) =>
    onDemand(() => within(clock, askMs, ask(), () => tooLate(what)));
  const attempts = new Map<number, ReturnType<AlertFacts['attempts']>>();
  return {
    now,
    queues,
    backend: backend.name,
    stats: inTime('its numbers', async () => {
      const { admin, name } = backend;
      if (!admin) throw config(`Backend "${name}" does not tell what is in its queues.`);
      await admin.know?.(queues);
      return admin.stats();
    }),
    attempts(spanMs) {
      const asked = attempts.get(spanMs) ?? inTime('its numbers', () => attemptsIn(client, now, spanMs))();
      attempts.set(spanMs, asked);
      return asked;
    },
    workers: inTime('its workers', async () => {
      const beats = await stores.workers.list(now - healthyWithinMs);
      return where === 'function' && beats.length === 0 ? null : beats;
    }),
    schedules: inTime('the state of its schedules', async () => {
      const all = [];
      for (const schedule of schedules) {
        const cursor = await readCursor(client, schedule.name);
        const next = typeof cursor === 'string' ? null : await schedule.nextAfter(cursor.at);
        const lateMs = cursor === 'never' ? null : next === null ? 0 : Math.max(0, now - next);
        all.push({ schedule: schedule.name, lateMs });
      }
      return all;
    }),
  };
}

function tooLate(what: string): never {
  throw new LongshoreError('TIMEOUT', `Expected the store to tell ${what} within ${askMs} ms.`);
}
