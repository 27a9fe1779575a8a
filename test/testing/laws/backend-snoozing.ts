/** Laws of a handler that gives its job back for later. */

import assert from 'node:assert/strict';
import type { JobLease } from '../../../core/contract/queue.ts';
import { connect, SnoozeError } from '../../../core/index.ts';
import type { AttemptResult } from '../../../core/kernel/attempt/attempt.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { appOf } from './app.ts';
import { type Kit, second } from './kit.ts';
import type { Law } from './law.ts';

/** One job that may run once only, and snoozes for 2 s `times` times. */
async function snoozing(t: Kit, times: number) {
  const ran: number[] = [];
  const app = appOf(t, 0, {
    maxRetries: 0,
    idempotencyKey: () => 'invoice-7',
    handle(_, ctx) {
      ran.push(ctx.attempt);
      if (ran.length <= times) throw new SnoozeError(2 * second, 'the bank is closed');
    },
  });
  const { backend } = t;
  const client = connect(app, backend, backend.stores ? {} : { store: memoryStore({ clock: app.clock }) });
  const { id } = await client.enqueue(app.jobs.get('invoice.send')!, 7);
  const run = (lease: JobLease) => attempt(app, { client, settler: backend }, createRun(lease));
  const next = async () => run(await t.take());
  const other = async () => (await client.enqueue(app.jobs.get('invoice.send')!, 7)).id;
  /** How jobs end within some seconds. */
  const rest = async () => {
    const results: AttemptResult[] = [];
    for (let round = 0; round < 10; round++) {
      for (const lease of await t.takeAll()) results.push(await run(lease));
      await t.advance(second);
    }
    return results.filter(({ outcome }) => outcome !== 'requeued');
  };
  return { client, id, ran, next, other, rest };
}

export function snoozingLaws(law: Law): void {
  law('a job that snoozes returns after its delay, not before, and has spent no attempt', async (t) => {
    const { client, id, ran, next } = await snoozing(t, 3);
    for (let round = 0; round < 3; round++) {
      const { outcome, settled, counted, attempt: number, delayMs, reason } = await next();
      assert.deepEqual(
        { outcome, settled, counted, number, delayMs, reason },
        { outcome: 'requeued', settled: true, counted: false, number: 1, delayMs: 2 * second, reason: null },
      );
      const { status, attempts } = (await client.status(id))!;
      assert.deepEqual([status, attempts], ['pending', []]);
      await t.advance(second);
      await t.nothingComes();
      await t.advance(second);
    }
    assert.equal((await next()).outcome, 'acked');
    assert.deepEqual(ran, [1, 1, 1, 1]);
    await t.nothingEverComes();
  });

  law(
    'a job that snoozes keeps its idempotency key: another one with the key waits, and is skipped',
    async (t) => {
      const { ran, next, other, rest } = await snoozing(t, 1);
      await next();
      const id = await other();
      const { outcome, counted } = await next();
      assert.deepEqual({ outcome, counted }, { outcome: 'requeued', counted: false });
      assert.deepEqual(ran, [1]);
      assert.equal((await rest()).find((result) => result.id === id)?.outcome, 'skipped-idempotent');
      assert.deepEqual(ran, [1, 1]);
    },
  );

  law('a job that snoozed and was cancelled leaves its idempotency key', async (t) => {
    const { client, id, ran, next, other, rest } = await snoozing(t, 1);
    await next();
    assert.equal(await client.cancel(id), 'cancelled');
    const another = await other();
    assert.equal((await rest()).find((result) => result.id === another)?.outcome, 'acked');
    assert.deepEqual(ran, [1, 1]);
  });
}
