/** Two releases of an app on one server, whose declarations of a limit differ. */

import { afterAll, expect, it } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../../core/base/clock.ts';
import { connect, createApp, defineJob, keyRing, type LongshoreEvent } from '../../../core/index.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { until } from '../../kit/until.ts';
import { databasesWith } from '../databases.ts';

const after: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of after.splice(0)) await undo();
});
const databases = databasesWith(after);
const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);

it.each(['sqlite', 'postgres', 'redis'] as const)(
  'the smaller limit counts on %s, and both releases are told',
  async (name) => {
    const open = await databases[name]();
    /** Jobs that run until they are let go. */
    const release = (limit: number) => {
      const running: (() => void)[] = [];
      const warnings: string[] = [];
      const work = defineJob({
        name: 'work',
        payload: z.null(),
        concurrency: { limit },
        handle: () => new Promise<void>((end) => running.push(end)),
      });
      const on = (event: LongshoreEvent) =>
        void (event.type === 'backend.warning' && warnings.push(event.message));
      const app = createApp({ jobs: [work], signing, on });
      const backend = open(systemClock);
      const client = connect(app, backend);
      after.unshift(() => client.close());
      const next = async () => {
        await client.enqueue(work, null);
        const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 1_000 });
        return attempt(app, { client, settler: backend }, createRun(lease!));
      };
      return { running, warnings, next };
    };
    const [strict, loose] = [release(1), release(5)];
    const first = loose.next();
    await until(() => loose.running.length === 1);
    const second = loose.next();
    await until(() => loose.running.length === 2);
    expect(await strict.next()).toMatchObject({ outcome: 'requeued' });
    for (const end of loose.running) end();
    expect([await first, await second]).toMatchObject([{ outcome: 'acked' }, { outcome: 'acked' }]);
    const third = strict.next();
    await until(() => strict.running.length === 1);
    expect(await loose.next()).toMatchObject({ outcome: 'requeued' });
    strict.running[0]!();
    expect(await third).toMatchObject({ outcome: 'acked' });
    expect([strict.warnings, loose.warnings]).toEqual([
      [
        'The limit of concurrency of job:work is 1 here and 5 in another release that runs: the smaller one counts.',
      ],
      [
        'The limit of concurrency of job:work is 5 here and 1 in another release that runs: the smaller one counts.',
      ],
    ]);
  },
);
