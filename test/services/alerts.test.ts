/** Alerts of hosts that share a real database: one message for all of them, and what one has begun another one ends. */

import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Clock } from '../../core/base/clock.ts';
import { alert, defineAlerts, sendTo } from '../../core/features/alerts/index.ts';
import { connect, createApp, defineJob, defineSchedule, keyRing, tick } from '../../core/index.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';
import { databasesWith, type Open } from './databases.ts';

const minuteMs = 60_000;
const after: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of after.splice(0)) await undo();
});

const databases = databasesWith(after);

const work = defineJob({ name: 'work', payload: z.null(), async handle() {} });

/** A process: its own connection, its own app. */
function startHost(open: Open, clock: Clock, sent: string[]) {
  const backend = open(clock);
  const app = createApp({
    jobs: [work],
    schedules: [defineSchedule({ name: 'hourly', everyMs: 60 * minuteMs, job: work, payload: null })],
    alerts: defineAlerts({
      to: sendTo((notices) => void sent.push(...notices.map((one) => `${one.state} ${one.alert}`))),
      rules: [alert.backlog({ above: 2 }), alert.scheduleMissed()],
    }),
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    clock,
  });
  const client = connect(app, backend);
  return { ...client, look: () => app.alerts!.evaluate(client, 'worker'), tick: () => tick(app, client) };
}

describe.each(['sqlite', 'postgres', 'redis'] as const)('hosts that share %s', (name) => {
  it('send one message when an alert begins, and one when it ends, also after all were started anew', async () => {
    const open = await databases[name]();
    const clock = createVirtualClock();
    const sent: string[] = [];
    const start = () => Array.from({ length: 3 }, () => startHost(open, clock, sent));
    const minutes = async (hosts: ReturnType<typeof start>, count: number) => {
      for (let i = 0; i < count; i++) {
        await Promise.all(hosts.flatMap((host) => [host.look(), host.tick()]));
        clock.advance(minuteMs);
      }
    };
    const before = start();
    await before[0]!.enqueueMany(work, [null, null, null]);
    await minutes(before, 8);
    expect(sent.splice(0)).toEqual(['firing QueueBacklogHigh']);
    for (const host of before) await host.close();
    const next = start();
    await minutes(next, 3);
    expect(sent).toEqual([]);
    await next[0]!.backend.admin!.clear('default');
    await minutes(next, 3);
    expect(sent).toEqual(['resolved QueueBacklogHigh']);
    for (const host of next) await host.close();
  });
});
