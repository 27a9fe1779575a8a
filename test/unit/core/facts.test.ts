import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { describe, it } from 'vitest';
import { tick } from '../../../core/features/schedules/feature.ts';
import { defineSchedule } from '../../../core/kernel/app/schedule.ts';
import { payloadOf } from '../../../core/kit/records/payload.ts';
import { connect } from '../../../core/routing/connect.ts';
import { startWorker } from '../../../core/routing/worker.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { startMs as at, bench, job } from './kit.ts';
import { recordingBench } from './recording-kit.ts';

const context = { tenantId: 'acme', requestId: 'req-1', traceparent: '00-aa-bb-01' };

/** What the queue keeps itself, and what a store beside it is told. */
for (const ownRecords of [true, false]) {
  const where = ownRecords ? 'kept by the queue' : 'kept by a store';
  describe(`a record ${where}`, () => {
    it('tells the facts of its job from the beginning to the end', async () => {
      const work = job();
      const t = recordingBench({ jobs: [work], ownRecords });
      await t.client.enqueue(
        work,
        {},
        { name: 'for Ada', idempotencyKey: 'order:1', maxRetries: 6, context },
      );
      const facts = { name: 'for Ada', idempotencyKey: 'order:1', schedule: null, ...context };
      assert.partialDeepStrictEqual(await t.record(), facts);
      await t.next();
      assert.partialDeepStrictEqual(await t.record(), { ...facts, status: 'completed', maxAttempts: 7 });
    });

    it('names the schedule that enqueued its job', async () => {
      const work = job();
      const schedule = defineSchedule({ name: 'nightly', everyMs: 60_000, job: work, payload: {} });
      const t = recordingBench({ jobs: [work], schedules: [schedule], ownRecords });
      await tick(t.app, t.client);
      t.clock.advance(60_000);
      const [id] = await tick(t.app, t.client);
      assert.partialDeepStrictEqual(await t.record(id), { schedule: 'nightly', name: 'nightly' });
      const { id: other } = await t.client.enqueue(work, {}, { idempotencyKey: 'schedule:nightly@noon' });
      assert.equal((await t.record(other)).schedule, null);
    });

    it('has the last lines that the handler logged, without secrets', async () => {
      const work = job({
        handle: (_, { log }) => {
          for (let i = 0; i < 30; i++) log(`line ${i}`, { i, apiKey: 'sk-1', user: { password: 'x' } });
          log('x'.repeat(2_000));
        },
      });
      const t = recordingBench({ jobs: [work], ownRecords });
      await t.client.enqueue(work, {});
      await t.next();
      const { log = [] } = (await t.record()).attempts[0]!;
      assert.equal(log.length, 20);
      assert.deepEqual(log[0], {
        at,
        text: 'line 11 {"i":11,"apiKey":"[masked]","user":{"password":"[masked]"}}',
      });
      assert.equal(log[19]!.text, `${'x'.repeat(499)}…`);
    });

    it('says how many bytes a handler logged, and not which', async () => {
      const body = new Uint8Array(2_000);
      const work = job({ handle: (_, { log }) => log('got', { body, file: Buffer.from(body), n: 1 }) });
      const t = recordingBench({ jobs: [work], ownRecords });
      await t.client.enqueue(work, {});
      await t.next();
      const text = 'got {"body":"[2000 bytes]","file":"[2000 bytes]","n":1}';
      assert.deepEqual((await t.record()).attempts[0]!.log, [{ at, text }]);
    });

    it('has the lines of an attempt that failed, and none of a handler that logs nothing', async () => {
      const work = job({
        retry: () => 0,
        handle: (_, { log, attempt }) => {
          if (attempt > 1) return;
          log('before', {});
          throw new Error('no');
        },
      });
      const t = recordingBench({ jobs: [work], ownRecords });
      await t.client.enqueue(work, {});
      await t.next();
      await t.next();
      const { attempts } = await t.record();
      assert.deepEqual(
        attempts.map(({ log }) => log),
        [[{ at, text: 'before' }], undefined],
      );
    });

    it('keeps a payload when the job is done only where its job says so', async () => {
      const [plain, kept] = [job(), job({ name: 'kept', keepPayload: true })];
      const t = recordingBench({ jobs: [plain, kept], ownRecords });
      const { records } = t.client.stores;
      await t.client.enqueue(plain, { to: 'a' });
      await t.client.enqueue(kept, { to: 'b', token: 'secret' });
      await t.next();
      await t.next();
      assert.equal(payloadOf(await records.body('id-1')), null);
      const value = { to: 'b', token: '[masked]' };
      assert.deepEqual(payloadOf(await records.body('id-2')), { value, offloaded: null });
    });
  });
}

describe('what a handler logs', () => {
  it('never fails its attempt, whatever it is', async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const hostile = {
      get boom(): never {
        throw new Error('a getter');
      },
    };
    const entries: readonly [unknown, object?][] = [
      ['cyclic', cyclic],
      ['hostile', hostile],
      [Object.create(null)],
      ['big', { n: 10n ** 20n, at: new Date(0), no: undefined, error: new Error('inner') }],
      ['many', { rows: Array.from({ length: 100_000 }, (_, i) => i) }],
      ['deep', JSON.parse(`${'{"a":'.repeat(50)}1${'}'.repeat(50)}`) as object],
    ];
    const work = job({
      handle: (_, { log }) => {
        for (const [message, fields] of entries) log(message as string, fields as never);
      },
    });
    const t = bench({ jobs: [work] });
    const { id } = await t.client.enqueue(work, {});
    const { outcome } = await t.run(await t.take());
    assert.equal(outcome, 'acked');
    const texts = (await t.client.status(id))!.attempts[0]!.log!.map(({ text }) => text);
    assert.equal(texts.length, entries.length);
    assert.ok(texts.every(({ length }) => length <= 500));
    assert.deepEqual(texts.slice(1, 4), [
      'hostile {"boom":"[unreadable]"}',
      '[unreadable]',
      'big {"n":"100000000000000000000","at":"1970-01-01T00:00:00.000Z","error":"inner"}',
    ]);
    assert.match(texts[4]!, /^many \{"rows":\[0,1,2,/);
    assert.match(texts[5]!, /\[deep\]/);
  });
});

describe('a worker', () => {
  it('names itself and its host in every attempt', async () => {
    const work = job({ retry: () => 0, maxRetries: 1, handle: () => Promise.reject(new Error('no')) });
    const t = bench({ jobs: [work] });
    const backend = memory({ clock: t.clock });
    const client = connect(t.app, backend);
    const { id } = await client.enqueue(work, {});
    const worker = startWorker(t.app, { backend, untilIdle: true });
    await worker.done;
    const who = { worker: worker.id, host: hostname(), maxAttempts: 2 };
    const { attempts } = (await client.status(id))!;
    assert.equal(attempts.length, 2);
    for (const attempt of attempts) assert.partialDeepStrictEqual(attempt, who);
    assert.deepEqual((await client.stores.records.page({ worker: worker.id })).records.length, 1);
  });
});
