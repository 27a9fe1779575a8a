/** Jobs that wait are changed, promoted and removed in the same way on every queue that finds them by their ids. */

import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../core/base/clock.ts';
import { connect, createApp, defineJob, fixed, keyRing } from '../../core/index.ts';
import { createRun } from '../../core/kernel/attempt/run.ts';
import { attempt } from '../../core/kernel/flow.ts';
import { databasesWith } from './databases.ts';

const after: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of after.splice(0)) await undo();
});
const databases = databasesWith(after);
const hour = 3_600_000;

/** Two hosts with a connection each: what one changes, the other runs. */
async function hosts(name: keyof typeof databases) {
  const seen: unknown[] = [];
  const mail = defineJob({
    name: 'mail',
    payload: z.object({ to: z.string(), fails: z.boolean().optional() }),
    idempotencyKey: ({ to }) => `mail-${to}`,
    retry: fixed(hour),
    expiresInMs: hour,
    handle(payload) {
      seen.push(payload.to);
      if (payload.fails) throw new Error('no');
    },
  });
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: [mail], signing });
  const open = await databases[name]();
  const [client, worker] = [connect(app, open(systemClock)), connect(app, open(systemClock))];
  after.unshift(
    () => client.close(),
    () => worker.close(),
  );
  async function run(): Promise<void> {
    const { backend } = worker;
    for (;;) {
      const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 });
      if (!lease) return;
      await attempt(app, { client: worker, settler: backend }, createRun(lease));
    }
  }
  return { client, mail, seen, run };
}

describe.each(Object.keys(databases) as (keyof typeof databases)[])('a job that waits on %s', (name) => {
  it('runs now when it is promoted, whether it was delayed or has failed', async () => {
    const { client, mail, seen, run } = await hosts(name);
    const { id } = await client.enqueue(mail, { to: 'a', fails: true }, { delayMs: hour });
    await run();
    expect(seen).toEqual([]);
    for (const runs of [['a'], ['a', 'a']]) {
      expect(await client.promote(id)).toBe(true);
      await run();
      expect(seen).toEqual(runs);
    }
    expect(await client.status(id)).toMatchObject({ status: 'retrying', attempts: [{}, {}] });
  });

  it('runs with what it was changed to, and with the key of that', async () => {
    const { client, mail, seen, run } = await hosts(name);
    const { id } = await client.enqueue(mail, { to: 'a' }, { delayMs: hour });
    await run();
    const changes = [{ payload: { to: 'b' } }, { priority: 'low' as const }, { delayMs: 0 }];
    const answers = await Promise.all(changes.map((change) => client.update(mail, id, change)));
    expect(answers).toEqual([true, true, true]);
    await run();
    expect(seen).toEqual(['b']);
    expect(await client.status(id)).toMatchObject({
      status: 'completed',
      priority: 8,
      idempotencyKey: 'mail-b',
    });
    expect(await client.update(mail, id, { payload: { to: 'c' } })).toBe(false);
  });

  it('is gone when it is removed', async () => {
    const { client, mail, seen, run } = await hosts(name);
    const { id } = await client.enqueue(mail, { to: 'a' });
    expect([await client.remove(id), await client.remove(id)]).toEqual([true, false]);
    await run();
    expect(seen).toEqual([]);
    expect(await client.status(id)).toBeNull();
  });
});
