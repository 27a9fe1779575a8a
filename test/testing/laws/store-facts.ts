/** Facts in a job's record beside its status: its actor, its worker, its log lines and its payload. */

import assert from 'node:assert/strict';
import type { AttemptReport, MessageFacts } from '../../../core/contract/outcome.ts';
import type { JobLease, OutgoingMessage } from '../../../core/contract/queue.ts';
import type { JobRecord, RecordFilter } from '../../../core/contract/store.ts';
import { payloadOf, type StoredPayload } from '../../../core/kit/records/payload.ts';
import { idsOf, type Kit, reportOf, second } from './kit.ts';
import type { Law } from './law.ts';

export const allFacts: MessageFacts = {
  name: 'Rechnung „März“ \\ 100 %',
  idempotencyKey: "order:4711:o'clock",
  schedule: 'nightly',
  requestId: 'req-1',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};
const nothing = { name: null, idempotencyKey: null, schedule: null, requestId: null, traceparent: null };

export async function recordOf(t: Kit, id: string): Promise<JobRecord> {
  const record = await t.stores.records.get(id);
  assert.ok(record, 'expected the job to have a record');
  return record;
}

const factsIn = ({ name, idempotencyKey, schedule, requestId, traceparent }: JobRecord) => {
  return { name, idempotencyKey, schedule, requestId, traceparent };
};

/** As a worker reports it. */
export function ranOn(lease: JobLease, endedAt: number, rest: Partial<AttemptReport> = {}): AttemptReport {
  const who = { maxAttempts: 4, worker: 'worker-7', host: 'ip-10-0-0-7' };
  return reportOf(lease, endedAt, 'requeued', { ...who, ...rest });
}

export function factLaws(law: Law): void {
  law('a record tells the facts of its message, whatever becomes of the job', async (t) => {
    const { id } = await t.put({ facts: allFacts });
    const check = async () => {
      assert.deepEqual(factsIn(await recordOf(t, id)), allFacts);
      assert.deepEqual(factsIn((await t.stores.records.page({})).records[0]!), allFacts);
    };
    await check();
    const lease = await t.take();
    await check();
    await t.backend.nack(lease, { delayMs: 0, countAttempt: true, report: ranOn(lease, t.now()) });
    await check();
    await t.ack(await t.take());
    await check();
  });

  law('a dead letter keeps its facts, also when it is retried', async (t) => {
    const { id } = await t.put({ facts: allFacts });
    await t.backend.abandon(await t.take(), { reason: 'permanent', error: 'HANDLER: no' });
    assert.deepEqual(factsIn(await recordOf(t, id)), allFacts);
    await t.admin.deadLetters.retry([id]);
    assert.deepEqual(factsIn(await recordOf(t, id)), allFacts);
    await t.ack(await t.take());
    assert.deepEqual(factsIn(await recordOf(t, id)), allFacts);
  });

  law(
    'a dead letter with a new text has what the new text tells',
    async (t) => {
      const { id } = await t.put({ facts: allFacts });
      const retry = async (facts?: MessageFacts) => {
        await t.backend.abandon(await t.take(), { reason: 'permanent', error: 'HANDLER: no' });
        const { body } = t.message({ id });
        await t.admin.deadLetters.retry([id], new Map([[id, { body, ...(facts && { facts }) }]]));
      };
      const found = async (filter: RecordFilter) => idsOf((await t.stores.records.page(filter)).records);
      await retry({ ...allFacts, schedule: 'weekly', idempotencyKey: 'order:2' });
      assert.deepEqual(factsIn(await recordOf(t, id)), {
        ...allFacts,
        schedule: 'weekly',
        idempotencyKey: 'order:2',
      });
      assert.deepEqual(await found({ schedule: 'weekly' }), [id]);
      assert.deepEqual(await found({ idempotencyKey: 'order:2' }), [id]);
      assert.deepEqual(await found({ schedule: 'nightly' }), []);
      await retry();
      assert.deepEqual(factsIn(await recordOf(t, id)), nothing);
      assert.deepEqual(await found({ schedule: 'weekly' }), []);
    },
    { knownByQueue: true },
  );

  law('what a message says nothing of is null', async (t) => {
    const { id } = await t.put();
    assert.deepEqual(factsIn(await recordOf(t, id)), nothing);
    const { id: other } = await t.put({ facts: { requestId: 'req-2' } });
    assert.deepEqual(factsIn(await recordOf(t, other)), { ...nothing, requestId: 'req-2' });
  });

  law('a report keeps its worker, its host, its log and the stack of its error', async (t) => {
    const { id } = await t.put();
    const error = {
      code: 'HANDLER',
      message: 'no "way"',
      stack: `Error: no\n${'    at ü (a.ts)\n'.repeat(120)}`,
    };
    const expected = [];
    for (const attempt of [1, 2]) {
      await t.advance(second);
      const lease = await t.take();
      const log = [{ at: t.now(), text: `run ${attempt} {"to":"ü\\n"}` }];
      const report = ranOn(lease, t.now(), { worker: `worker-${attempt}`, error, log });
      await t.backend.nack(lease, { delayMs: 0, countAttempt: true, report });
      expected.push(report);
    }
    const record = await recordOf(t, id);
    assert.deepEqual(record.attempts, expected);
    assert.equal(record.maxAttempts, 4);
    const lease = await t.take();
    const last = ranOn(lease, t.now(), { outcome: 'dead-lettered', error });
    await t.backend.abandon(lease, { reason: 'permanent', error: 'HANDLER: no "way"', report: last });
    assert.deepEqual((await recordOf(t, id)).attempts, [...expected, last]);
  });

  law('of the lines that all attempts have logged the last 20 are listed', async (t) => {
    const { id } = await t.put();
    for (const attempt of [1, 2, 3]) {
      await t.advance(second);
      const lease = await t.take();
      const log = Array.from({ length: 9 }, (_, i) => ({ at: t.now(), text: `${attempt}.${i}` }));
      await t.backend.nack(lease, { delayMs: 0, countAttempt: true, report: ranOn(lease, t.now(), { log }) });
    }
    const { attempts } = await recordOf(t, id);
    const lines = attempts.map(({ log = [] }) => log.map(({ text }) => text));
    assert.deepEqual(
      lines.map(({ length }) => length),
      [2, 9, 9],
    );
    assert.deepEqual([lines[0], lines[2]!.at(-1)], [['1.7', '1.8'], '3.8']);
  });
}

export const secret = {
  to: 'a@b.example',
  apiKey: 'sk-1',
  nested: { password: 'hunter2', rows: [1, { token: 't' }] },
};
export const shown: StoredPayload = {
  value: {
    to: 'a@b.example',
    apiKey: '[masked]',
    nested: { password: '[masked]', rows: [1, { token: '[masked]' }] },
  },
  offloaded: null,
};

/** A message with this payload. */
export function carrying(t: Kit, payload: unknown, rest: object = {}): Partial<OutgoingMessage> {
  const { id, body } = t.message();
  return { id, body: JSON.stringify({ ...JSON.parse(body), payload, ...rest }) };
}

export function payloadLaws(law: Law): void {
  const shownOf = async (t: Kit, id: string) => payloadOf(await t.stores.records.body(id));
  const knownByQueue = { knownByQueue: true } as const;

  law(
    'the payload of a living job and of a dead letter is told on request, without what looks like a secret',
    async (t) => {
      const { id } = await t.put(carrying(t, secret));
      assert.deepEqual(await shownOf(t, id), shown);
      const lease = await t.take();
      assert.deepEqual(await shownOf(t, id), shown);
      await t.backend.abandon(lease, { reason: 'permanent', error: '' });
      assert.deepEqual(await shownOf(t, id), shown);
    },
    knownByQueue,
  );

  law(
    'an offloaded payload is told by its key and length',
    async (t) => {
      const claim = { key: 'job-1.ab', bytes: 2_000_000, sha256: 'f'.repeat(64) };
      const { id } = await t.put(carrying(t, null, { claim }));
      const offloaded = { key: 'job-1.ab', bytes: 2_000_000 };
      assert.deepEqual(await shownOf(t, id), { value: null, offloaded });
    },
    knownByQueue,
  );

  law(
    'the payload of a completed job is not kept, unless its ack says so',
    async (t) => {
      const [gone, kept] = [await t.put(carrying(t, secret)), await t.put(carrying(t, secret))];
      const [first, second] = await t.takeAll();
      await t.backend.ack([{ lease: first! }, { lease: second!, keepBody: true }]);
      assert.equal(await shownOf(t, gone.id), null);
      assert.deepEqual(await shownOf(t, kept.id), shown);
      assert.equal((await recordOf(t, kept.id)).status, 'completed');
    },
    knownByQueue,
  );

  law('an unknown job has no payload', async (t) => {
    assert.equal(await shownOf(t, 'unknown'), null);
  });

  law('no record and no list holds a payload', async (t) => {
    const { id } = await t.put(carrying(t, secret));
    const silent = async () => {
      const found = JSON.stringify([await recordOf(t, id), (await t.stores.records.page({})).records]);
      assert.ok(!found.includes('a@b.example'), found);
    };
    await silent();
    const lease = await t.take();
    await silent();
    await t.backend.ack([{ lease, keepBody: true }]);
    await silent();
  });
}
