/** What a record of a queue that keeps none tells beside its status: it was told with the job, or with the start of an attempt. */

import assert from 'node:assert/strict';
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
    assert.deepEqual(await records.payload!(job.id), shown);
    await started(1);
    await settled(reportAt(t, 1, t.now(), 'acked'));
    assert.deepEqual(await records.payload!(job.id), shown);
    const other = recorder(t);
    await other.enqueued();
    assert.equal(await records.payload!(other.job.id), null);
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
