/** Facts in the records of a queue that keeps none: they come with the job, or with the start of an attempt. */

import assert from 'node:assert/strict';
import { payloadOf } from '../../../core/kit/records/payload.ts';
import { minute, second } from './kit.ts';
import type { Law } from './law.ts';
import { allFacts, carrying, secret, shown } from './store-facts.ts';
import { about, recorder, reportAt } from './store-writing-kit.ts';

export function writtenFactLaws(law: Law): void {
  law('a record that begins with an attempt tells the facts of its job', async (t) => {
    const { job } = recorder(t);
    const { started, settled, record } = about(t, { ...job, facts: allFacts }, 0);
    await started(1);
    assert.partialDeepStrictEqual(await record(), { ...allFacts, status: 'processing' });
    await settled(reportAt(t, 1, t.now(), 'acked'));
    assert.partialDeepStrictEqual(await record(), { ...allFacts, status: 'completed' });
  });

  law('a payload that comes with a job is told as long as its record', async (t) => {
    const message = carrying(t, secret);
    const { job } = recorder(t, { id: message.id! });
    const { enqueued, started, settled } = about(t, { ...job, body: message.body! }, 0);
    const { records } = t.stores;
    await enqueued();
    assert.deepEqual(payloadOf(await records.body(job.id)), shown);
    await started(1);
    await settled(reportAt(t, 1, t.now(), 'acked'));
    assert.deepEqual(payloadOf(await records.body(job.id)), shown);
    const other = recorder(t);
    await other.enqueued();
    assert.equal(payloadOf(await records.body(other.job.id)), null);
  });

  law('a job that waits tells what it was changed to', async (t) => {
    const message = carrying(t, secret);
    const { job } = recorder(t, { id: message.id! });
    const waiting = { ...job, facts: { name: 'old', idempotencyKey: 'a' }, body: message.body! };
    const { writer, enqueued, started, settled, record } = about(t, waiting, 0);
    assert.ok(writer.changed, 'the store is not told of changes');
    await writer.changed(job.id, { priority: 1 });
    await enqueued();
    const body = JSON.stringify({ ...JSON.parse(message.body!), payload: { to: 'Ada' } });
    const runAt = t.now() + minute;
    await writer.changed(job.id, { body, facts: { name: 'new' }, priority: 2, notBefore: runAt });
    const expected = { status: 'pending', priority: 2, runAt, name: 'new', idempotencyKey: null };
    assert.partialDeepStrictEqual(await record(), expected);
    assert.deepEqual(payloadOf(await t.stores.records.body(job.id))?.value, { to: 'Ada' });
    await writer.changed(job.id, { notBefore: null });
    assert.partialDeepStrictEqual(await record(), { ...expected, runAt: t.now() });
    await started(1);
    await writer.changed(job.id, { priority: 9 });
    await settled(reportAt(t, 1, t.now(), 'acked'));
    await writer.changed(job.id, { priority: 9 });
    assert.partialDeepStrictEqual(await record(), { status: 'completed', priority: 2 });
  });

  law('an attempt that never reported its end names the worker that began it', async (t) => {
    const { job, writer, started, record } = recorder(t);
    const at = t.now();
    const who = { worker: 'worker-7', host: 'ip-10-0-0-7' };
    await writer.started(job, { owner: 'lease 1', attempt: 1, at, ...who });
    await t.advance(minute);
    await started(2); // by a worker that does not say who it is
    await t.advance(second);
    await started(3);
    const lines = (await record()).attempts.map(({ outcome, worker, host }) => [outcome, worker, host]);
    assert.deepEqual(lines, [
      ['interrupted', 'worker-7', 'ip-10-0-0-7'],
      ['interrupted', undefined, undefined],
    ]);
  });
}
