/** The laws of a payload store: bytes by key, and what becomes of them with their job. */

import assert from 'node:assert/strict';
import { LongshoreError, PermanentError } from '../../../core/base/errors.ts';
import type { PayloadStore } from '../../../core/contract/store.ts';
import { keyRing } from '../../../core/envelope/signing.ts';
import { createApp } from '../../../core/features/table.ts';
import { defineJob } from '../../../core/kernel/app/job.ts';
import { fixed } from '../../../core/kernel/app/retry.ts';
import type { StandardSchema } from '../../../core/kernel/app/schema.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import type { Runner } from './harness.ts';

/** One empty place, used by one law. */
export interface PayloadsBench {
  readonly payloads: PayloadStore;
  /** The same place opened once more, as another process would have it. */
  readonly peer: PayloadStore;
  /** One that cannot be reached. */
  readonly unreachable: PayloadStore;
  /** Keys that are there now. */
  keys(): Promise<string[]>;
  close(): Promise<void>;
}

export interface PayloadsHarness {
  open(): Promise<PayloadsBench>;
}

const large = 2_000_000;
const bytesOf = (length: number, salt = 0): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8) + salt) & 255);

export function describePayloads(name: string, harness: PayloadsHarness, { describe, it }: Runner): void {
  const law = (what: string, body: (bench: PayloadsBench) => Promise<void>) =>
    it(what, async () => {
      const bench = await harness.open();
      try {
        await body(bench);
      } finally {
        await bench.close();
      }
    });

  describe(`${name} keeps the laws of a payload store`, () => {
    law('gives every byte back, in another process too', async ({ payloads, peer }) => {
      for (const length of [0, 1, 256, 65_537, large]) {
        const key = `k.${length}-Z_9`;
        await payloads.put(key, bytesOf(length));
        for (const store of [payloads, peer]) {
          const found = await store.get(key, length);
          assert.deepEqual(Buffer.from(found!), Buffer.from(bytesOf(length)));
        }
      }
    });

    law('answers null for a key that was never there, or is there no more', async ({ payloads, peer }) => {
      assert.equal(await payloads.get('nobody', 10), null);
      await payloads.put('short-lived', bytesOf(10));
      await peer.delete('short-lived');
      assert.equal(await payloads.get('short-lived', 10), null);
      await payloads.delete('short-lived');
    });

    law('puts the same key twice', async ({ payloads }) => {
      for (let i = 0; i < 2; i++) await payloads.put('again', bytesOf(500));
      assert.deepEqual(Buffer.from((await payloads.get('again', 500))!), Buffer.from(bytesOf(500)));
    });

    law('keeps keys apart that differ in a letter', async ({ payloads }) => {
      const names = ['a', 'a.', 'aa', 'a-a', 'a_a', 'x'.repeat(160)];
      await Promise.all(names.map((key, salt) => payloads.put(key, bytesOf(100, salt))));
      for (const [salt, key] of names.entries()) {
        assert.deepEqual(Buffer.from((await payloads.get(key, 100))!), Buffer.from(bytesOf(100, salt)));
      }
      await payloads.delete('a');
      assert.deepEqual((await Promise.all(names.map((key) => payloads.get(key, 100)))).indexOf(null), 0);
    });

    law('passes no other bytes off as those that were asked for', async ({ payloads }) => {
      await payloads.put('grown', bytesOf(1_001));
      const found = await payloads.get('grown', 1_000);
      assert.notDeepEqual(found && Buffer.from(found), Buffer.from(bytesOf(1_000)));
    });

    law('says BACKEND or CONFIG when it cannot be reached', async ({ unreachable }) => {
      const calls = [unreachable.put('k', bytesOf(1)), unreachable.get('k', 1), unreachable.delete('k')];
      for (const call of await Promise.allSettled(calls)) {
        assert.equal(call.status, 'rejected');
        assert.ok(call.reason instanceof LongshoreError, String(call.reason));
        assert.ok(['BACKEND', 'CONFIG'].includes(call.reason.code), call.reason.message);
      }
    });

    law('carries a job that is too large for its queue, and is empty afterwards', async (bench) => {
      const t = shop(bench.payloads);
      await t.enqueue({ text: 'ü'.repeat(large), end: 'return' });
      assert.equal((await bench.keys()).length, 1);
      assert.deepEqual(await t.run(), ['acked', null]);
      assert.deepEqual(t.seen, ['ü'.repeat(large)]);
      assert.deepEqual(await bench.keys(), []);
    });

    law('keeps a payload over retries and with a dead letter, which can then be retried', async (bench) => {
      const t = shop(bench.payloads);
      await t.enqueue({ text: 'x'.repeat(large), end: 'throw, die, return' });
      assert.deepEqual(await t.run(), ['requeued', 'HANDLER']);
      assert.deepEqual(await t.run(), ['dead-lettered', 'HANDLER']);
      assert.equal((await bench.keys()).length, 1);
      await t.retryDead();
      assert.deepEqual(await t.run(), ['acked', null]);
      assert.deepEqual(await bench.keys(), []);
    });

    law('sends a job to the dead letters whose payload was changed or is missing', async (bench) => {
      const t = shop(bench.payloads);
      await t.enqueue({ text: 'x'.repeat(large), end: 'return' });
      const [key] = await bench.keys();
      const original = await bench.payloads.get(key!, large + 1_000);
      for (const change of [
        () => bench.payloads.put(key!, Buffer.from(original!).fill('y', 100, 101)),
        () => bench.payloads.put(key!, original!.subarray(1)),
        () => bench.payloads.put(key!, Buffer.concat([original!, Buffer.from(' ')])),
        () => bench.payloads.delete(key!),
      ]) {
        await change();
        assert.deepEqual(await t.run(), ['rejected', 'PAYLOAD_STORE']);
        await t.retryDead();
      }
      await bench.payloads.put(key!, original!);
      assert.deepEqual(await t.run(), ['acked', null]);
      assert.equal(t.seen.length, 1);
    });

    law('has a job wait while it cannot be reached, and loses nothing', async (bench) => {
      const t = shop(bench.payloads);
      await t.enqueue({ text: 'x'.repeat(large), end: 'return' });
      const [outcome, code] = (await t.run(bench.unreachable))!;
      assert.equal(outcome, 'requeued');
      assert.ok(code === 'BACKEND' || code === 'CONFIG', String(code));
      assert.deepEqual(await t.run(), ['acked', null]);
    });

    law('refuses to enqueue while it cannot be reached, and sends no message then', async (bench) => {
      const t = shop(bench.unreachable);
      const payload = { text: 'x'.repeat(large), end: 'return' };
      await assert.rejects(t.enqueue(payload), (error: LongshoreError) =>
        ['BACKEND', 'CONFIG'].includes(error.code),
      );
      const [first, second] = await t.enqueueMany([payload, { text: 'small', end: 'return' }]);
      assert.equal(first?.ok, false);
      assert.equal(second?.ok, true);
      assert.deepEqual(await t.run(), ['acked', null]);
      assert.equal(await t.run(), null);
    });
  });
}

interface Payload {
  readonly text: string;
  /** How its attempts end, in their order. */
  readonly end: string;
}

/** A queue in memory that takes a megabyte, and a job that takes more. */
function shop(payloads: PayloadStore) {
  const clock = createVirtualClock();
  const backend = memory({ clock });
  const seen: string[] = [];
  let runs = 0;
  const payload: StandardSchema<Payload> = {
    '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Payload }) },
  };
  const job = defineJob({
    name: 'large',
    payload,
    retry: fixed(1_000),
    handle({ text, end }) {
      const ends = end.split(', ');
      const how = ends[Math.min(runs++, ends.length - 1)];
      if (how === 'throw') throw new Error('not now');
      if (how === 'die') throw new PermanentError('never');
      seen.push(text);
    },
  });
  const app = createApp({
    jobs: [job],
    clock,
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32).fill(1) }]),
  });
  const clientWith = (store: PayloadStore) => connect(app, backend, { store: { payloads: store } });
  const client = clientWith(payloads);
  return {
    seen,
    enqueue: (value: Payload) => client.enqueue(job, value),
    enqueueMany: (values: Payload[]) => client.enqueueMany(job, values),
    /** Outcome and code of one attempt; `null` = nothing was ready. */
    async run(store = payloads) {
      clock.advance(60_000);
      const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 });
      if (!lease) return null;
      const ports = { client: clientWith(store), settler: backend };
      const { outcome, error } = await attempt(app, ports, createRun(lease));
      return [outcome, error?.code ?? null];
    },
    async retryDead() {
      const letters = await backend.admin!.deadLetters.list({});
      assert.equal(await backend.admin!.deadLetters.retry(letters.map(({ id }) => id)), 1);
    },
  };
}
