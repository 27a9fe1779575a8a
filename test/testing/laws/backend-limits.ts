/** Laws of limits over all workers, on a queue with its own store or with one beside it. */

import assert from 'node:assert/strict';
import { RateLimitedError } from '../../../core/base/errors.ts';
import { lookingAtLines } from '../../../core/features/limits/lines.ts';
import { connect, RetryAfterError, SnoozeError } from '../../../core/index.ts';
import type { AttemptResult } from '../../../core/kernel/attempt/attempt.ts';
import { createRun, type Run } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { appOf, type Parts } from './app.ts';
import { hour, type Kit, minute, second } from './kit.ts';
import type { Law } from './law.ts';

interface Begun {
  readonly run: Run;
  /** Lets the handler return, or throw. */
  finish(error?: Error): void;
  readonly result: Promise<AttemptResult>;
}

/** The handlers wait until the test lets them finish. */
async function limited(t: Kit, parts: Parts) {
  const begun: Begun[] = [];
  const open: Begun['finish'][] = [];
  const handle = () =>
    new Promise<void>((resolve, reject) => {
      open.push((error) => (error ? reject(error) : resolve()));
    });
  const app = appOf(t, 0, { handle, ...parts });
  const { backend } = t;
  const client = connect(app, backend, backend.stores ? {} : { store: memoryStore({ clock: app.clock }) });
  const { limits } = client.stores;
  assert.ok(limits);
  const job = app.jobs.get('invoice.send')!;

  /** Makes an attempt of the next job, and resolves when its handler has begun or it was refused. */
  async function next(leaseMs = 10 * minute): Promise<Begun | AttemptResult> {
    const run = createRun(await t.take({ leaseMs }));
    const before = open.length;
    const result = attempt(app, { client, settler: backend }, run);
    let over: AttemptResult | null = null;
    void result.then(
      (it) => (over = it),
      () => {},
    );
    while (open.length === before && over === null) await new Promise((resolve) => setImmediate(resolve));
    if (over) return over;
    const one = { run, result, finish: open[before]! };
    begun.push(one);
    return one;
  }
  const begins = async (leaseMs?: number): Promise<Begun> => {
    const one = await next(leaseMs);
    assert.ok('run' in one, 'expected the handler to begin');
    return one;
  };
  const waits = async (): Promise<AttemptResult> => {
    const one = await next();
    assert.ok('outcome' in one, 'expected the job to wait');
    assert.deepEqual([one.outcome, one.counted, one.settled], ['requeued', false, true]);
    return one;
  };
  return {
    client,
    limits,
    next,
    begins,
    waits,
    job,
    put: async (payload: unknown = 7) => (await client.enqueue(job, payload)).id,
  };
}

const one = { concurrency: { limit: 1 } };

export function limitLaws(law: Law): void {
  law('a job at its limit waits without an attempt, and comes when a slot is given back', async (t) => {
    const { client, put, begins, waits } = await limited(t, one);
    await put();
    const second_ = await put();
    const first = await begins();
    await waits();
    await t.nothingComes();
    const { status, attempts } = (await client.status(second_))!;
    assert.deepEqual([status, attempts], ['pending', []]);
    first.finish();
    assert.equal((await first.result).outcome, 'acked');
    if (!t.backend.pending) await t.advance(minute); // it cannot be woken
    const next = await begins();
    assert.equal(next.run.lease.attempt, 1);
    next.finish();
    await next.result;
    await t.nothingEverComes();
  });

  law(
    'the slot of a worker that died is free when its lease ends',
    async (t) => {
      const { put, begins, waits } = await limited(t, one);
      await put();
      await put();
      await begins(10 * second);
      await waits();
      await t.advance(11 * second);
      await t.reap();
      const next = await begins();
      next.finish();
      await next.result;
    },
    { takesTime: true },
  );

  law('a worker that dies in the last attempt of a job keeps nobody waiting', async (t) => {
    if (!t.backend.pending) return; // all that wait ask again within a minute
    const { client, put, begins, waits, next } = await limited(t, { ...one, maxRetries: 0 });
    for (let n = 0; n < 3; n++) await put();
    const first = await begins();
    for (let n = 0; n < 2; n++) await waits(); // the second of them for two leases
    first.finish();
    await first.result;
    await begins(second);
    await t.advance(2 * second);
    await t.reap();
    const dead = (await next()) as AttemptResult;
    assert.equal(dead.reason, 'crash-loop');
    await lookingAtLines(client)();
    const last = await begins();
    last.finish();
    assert.equal((await last.result).outcome, 'acked');
  });

  law('a job that is cancelled while it waits for a rate gives up its place', async (t) => {
    const { client, limits, put, begins, waits } = await limited(t, { rate: { limit: 1, perMs: minute } });
    await put();
    const waiting = [await put(), await put(), await put()];
    await begins();
    for (const _ of waiting) await waits();
    for (const id of waiting) assert.equal(await client.cancel(id), 'cancelled');
    assert.equal((await limits.list({}))[0]?.waiting, 0);
    await put();
    const { delayMs } = await waits();
    assert.ok(delayMs !== null && delayMs <= minute, `got a delay of ${delayMs} ms`);
  });

  law(
    'a worker that was paused gives back nothing that belongs to another one',
    async (t) => {
      const { limits, put, begins, waits } = await limited(t, one);
      await put();
      const stale = await begins(10 * second);
      await t.advance(11 * second);
      await t.reap();
      const owner = await begins();
      await put();
      stale.finish();
      await stale.result;
      const [state] = await limits.list({});
      assert.equal(state?.used, 1);
      await waits();
      owner.finish();
      await owner.result;
    },
    { takesTime: true },
  );

  law('a batch runs no more of its children at the same time than it allows', async (t) => {
    const { client, job, put, begins, waits } = await limited(t, {});
    const { id } = await client.batch('invoices', [1, 2, 3], { job, concurrency: 2 });
    const [first, next] = [await begins(), await begins()];
    await waits();
    await put(); // a job of its own does not wait for them
    const other = await begins();
    for (const one of [first, next, other]) {
      one.finish();
      assert.equal((await one.result).outcome, 'acked');
    }
    if (!t.backend.pending) await t.advance(minute);
    const last = await begins();
    last.finish();
    await last.result;
    assert.equal((await client.batches.get(id))?.state, 'complete');
  });

  law('jobs of one key wait for one another, and for nobody else', async (t) => {
    const concurrency = { limit: 1, key: (payload: unknown) => String(payload) };
    const { put, begins, waits } = await limited(t, { concurrency });
    for (const key of ['a', 'b']) await put(key);
    const [a, b] = [await begins(), await begins()];
    await put('a');
    await waits();
    for (const it of [a, b]) {
      it.finish();
      await it.result;
    }
  });

  law(
    'a rate lets as many begin as it says, in any window, and gives the others their time',
    async (t) => {
      const { put, begins, waits } = await limited(t, { rate: { limit: 2, perMs: 10 * second } });
      for (let i = 0; i < 4; i++) await put();
      const begunAt = t.now();
      const running = [await begins(), await begins()];
      for (const { finish, result } of running) {
        finish();
        await result;
      }
      const { delayMs } = await waits();
      await waits();
      assert.ok(delayMs !== null && delayMs > 0 && delayMs <= 10 * second, `got a delay of ${delayMs} ms`);
      await t.nothingComes();
      await t.advance(10 * second);
      const later = [await begins(), await begins()];
      assert.ok(t.now() - begunAt >= 10 * second);
      for (const { finish, result } of later) {
        finish();
        await result;
      }
    },
    { takesTime: true },
  );

  law(
    'an attempt that ran its handler has used its place of a rate, however it ended',
    async (t) => {
      const { limits, put, begins, waits } = await limited(t, {
        maxRetries: 5,
        rate: { limit: 5, perMs: hour },
      });
      await put();
      const used = async () => (await limits.list({})).map((state) => state.used);
      const ends: readonly ((one: Begun) => void)[] = [
        ({ finish }) => finish(new SnoozeError(second)),
        ({ finish }) => finish(new RateLimitedError(second, 'the other side says "wait"')),
        ({ finish }) => finish(new RetryAfterError(second)),
        ({ run }) => run.end('shutdown'),
      ];
      for (const [i, end] of ends.entries()) {
        const one = await begins();
        end(one);
        assert.equal((await one.result).outcome, 'requeued');
        assert.deepEqual(await used(), [i + 1]);
        await t.advance(2 * second);
      }
      await begins(10 * second); // and its worker dies
      await t.advance(11 * second);
      await t.reap();
      const { delayMs } = await waits();
      assert.deepEqual(await used(), [5]);
      assert.ok(
        delayMs !== null && delayMs > hour - minute && delayMs < hour,
        `got a delay of ${delayMs} ms`,
      );
    },
    { takesTime: true },
  );

  law('an attempt that did not come to its handler uses no place of a rate', async (t) => {
    const { client, limits, put, begins, waits } = await limited(t, {
      idempotencyKey: String,
      rate: { limit: 1, perMs: hour },
    });
    await put();
    const { keys } = client.stores;
    await keys.claim('job:invoice.send:7', 'another', t.now() + minute);
    await waits();
    assert.deepEqual(await limits.list({}), []);
    await keys.release('job:invoice.send:7', 'another');
    await t.advance(minute);
    const one = await begins();
    one.finish();
    await one.result;
    assert.equal((await limits.list({}))[0]?.used, 1);
  });

  law('a job that was told to wait holds all that share its rate, and spends no attempt', async (t) => {
    let calls = 0;
    const { client, put, waits } = await limited(t, {
      maxRetries: 0,
      rate: { limit: 100, perMs: second },
      handle: (_, ctx) => {
        calls++;
        ctx.rateLimited(20 * second);
      },
    });
    const ids = [await put(), await put()];
    const { delayMs } = await waits();
    assert.equal(delayMs, 20 * second);
    await waits();
    assert.equal(calls, 1);
    for (const id of ids) assert.equal((await client.status(id))?.status, 'pending');
    await t.advance(10 * second);
    await t.nothingComes();
  });

  law('no answer of a service holds a rate for longer than it says', async (t) => {
    const { limits, put, waits } = await limited(t, {
      rate: { limit: 100, perMs: second, maxHoldMs: minute },
      handle: (_, ctx) => ctx.rateLimited(1e16),
    });
    await put();
    const { delayMs } = await waits();
    assert.equal(delayMs, minute);
    const [state] = await limits.list({});
    assert.ok(state!.heldUntil! <= t.now() + minute + second, `held until ${state!.heldUntil}`);
  });
}
