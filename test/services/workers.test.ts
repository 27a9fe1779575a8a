/** A worker is drained over the queue by another process, on every database that hosts share. */

import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../core/base/clock.ts';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../core/index.ts';
import { drainWorker } from '../../core/kernel/worker/drain.ts';
import { until } from '../kit/until.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';
import { databasesWith } from './databases.ts';

const after: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of after.splice(0)) await undo();
});
const databases = databasesWith(after);

/** Their time goes faster than that of their database: nothing ends because that is slow. */
const unhurried = { leaseMs: 3_600_000, drainMs: 3_600_000 };

describe.each(['sqlite', 'postgres', 'redis'] as const)('hosts that share %s', (name) => {
  it('drain a worker of one of them, which lets its job end and leaves the next one to others', async () => {
    const open = await databases[name]();
    const clock = createVirtualClock();
    const ends: (() => void)[] = [];
    const work = defineJob({
      name: 'work',
      payload: z.null(),
      handle: () => new Promise<void>((resolve) => void ends.push(resolve)),
    });
    const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
    const app = createApp({ jobs: [work], signing, clock });
    const client = connect(app, open(clock));
    const [one, two] = await client.enqueueMany(work, [null, null]);
    const backends = [open(clock), open(clock)];
    const [first, second] = backends.map((backend) =>
      startWorker(app, { backend, concurrency: 1, ...unhurried }),
    );
    const beats = () => client.stores.workers.list(0);
    const step = (ms: number) => {
      clock.advance(ms);
    };
    step(1);
    await until(async () => ends.length === 2 && (await beats()).length === 2);

    await drainWorker(client, first!.id);
    await until(async () => {
      step(100);
      return (await beats()).some(({ id, draining }) => id === first!.id && draining);
    });
    expect(await drainWorker(client, first!.id)).toBeUndefined();
    const [third] = await client.enqueueMany(work, [null]);
    for (const end of ends.splice(0)) end();
    expect(await first!.done).toMatchObject({ reason: 'asked', counts: { acked: 1 }, released: 0 });
    await until(() => {
      step(100);
      return ends.length === 1;
    });
    for (const end of ends.splice(0)) end();
    await until(async () => {
      step(100);
      const jobs = await Promise.all([one, two, third].map((job) => client.status(job!.id)));
      return jobs.every((job) => job?.status === 'completed');
    });
    expect((await beats()).map(({ id }) => id)).toEqual([second!.id]);
    await expect(drainWorker(client, first!.id)).rejects.toMatchObject({ code: 'OPTION' });
    await second!.stop();
    for (const backend of backends) await backend.close();
    await client.close();
  });

  it('run jobs of each queue in its own slots, whatever is cleared, cancelled or paused in another', async () => {
    const open = await databases[name]();
    const ends = new Map<string, () => void>();
    const begun: string[] = [];
    const jobOf = (queue: string) =>
      defineJob({
        name: queue,
        queue,
        payload: z.number(),
        handle: (n) =>
          new Promise<void>((resolve) => {
            begun.push(`${queue} ${n}`);
            ends.set(`${queue} ${n}`, resolve);
          }),
      });
    const [imports, mail] = [jobOf('import'), jobOf('mail')];
    const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
    const app = createApp({ jobs: [imports, mail], signing });
    const client = connect(app, open(systemClock));
    const admin = client.backend.admin!;
    const sent = await client.enqueueMany(imports, [0, 1, 2, 3, 4, 5]);
    // A job that is held ahead would be no waiting one any more, and not be cleared.
    const slots = { queues: { import: 2, mail: 1 }, prefetch: 0 };
    const worker = startWorker(app, { backend: open(systemClock), ...slots });
    await until(() => begun.length === 2);

    await client.enqueueMany(mail, [0, 1]);
    await until(() => begun.length === 3);
    expect(begun).toEqual(['import 0', 'import 1', 'mail 0']);
    await client.cancel((sent[2] as { id: string }).id);
    await admin.setPaused('mail', true);
    ends.get('mail 0')!();
    ends.get('import 0')!();
    await until(() => begun.length === 4);
    expect(begun[3]).toBe('import 3');
    await admin.clear('import');
    ends.get('import 1')!();
    ends.get('import 3')!();
    await admin.setPaused('mail', false);
    await until(() => begun.length === 5);
    expect(begun[4]).toBe('mail 1');
    ends.get('mail 1')!();
    await until(async () => (await admin.stats()).every(({ leased, ready }) => leased + ready === 0));
    expect(await worker.stop()).toMatchObject({ counts: { acked: 5 } });
    await client.close();
  });
});
