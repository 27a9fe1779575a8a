import assert from 'node:assert/strict';
import { type MovedJob, movable, type QueueTransfer } from '../../../local/move/contract.ts';
import { bodiesOf, day, hour, type Kit, mail, minute, reports, second } from './kit.ts';
import type { Law } from './law.ts';

function transferOf(t: Kit): QueueTransfer {
  const { transfer } = movable(t.backend);
  assert.ok(transfer, `backend "${t.backend.name}" offers no transfer and declares no lack of it`);
  return transfer;
}

const idsOf = (jobs: readonly MovedJob[]): string[] => jobs.map(({ message }) => message.id);

async function holdAll(t: Kit, queue = mail): Promise<MovedJob[]> {
  const all: MovedJob[] = [];
  for (;;) {
    const some = await transferOf(t).hold(queue, 100);
    if (some.length === 0) return all;
    all.push(...some);
  }
}

const stateOf = async (t: Kit, id: string) => (await t.stores.records.get(id))?.status ?? null;

/** A job as another backend could hand it over: it has failed twice, and the second worker vanished. */
function traveller(t: Kit, change: Partial<MovedJob> = {}, message = t.message()): MovedJob {
  const report = (attempt: number) => ({
    attempt,
    startedAt: t.now() - hour,
    endedAt: t.now() - hour + second,
    outcome: 'requeued' as const,
    error: { code: 'HANDLER', message: 'no 100%\n"way" ü' },
    output: null,
  });
  return {
    message: { ...message, notBefore: message.notBefore ?? t.now() - minute },
    createdAt: t.now() - day,
    attempts: 2,
    interrupted: true,
    reports: [report(1), report(2)],
    progress: { done: 1, total: 3, message: 'ü', at: t.now() - hour },
    death: null,
    ...change,
  };
}

export function transferLaws(law: Law): void {
  law('what is held and put tells its facts, also of a dead letter', async (t) => {
    const facts = { name: 'for Ada', idempotencyKey: 'order:1' };
    await t.put({ facts });
    const [held] = await holdAll(t);
    assert.deepEqual(held!.message.facts, facts);
    const dead = traveller(
      t,
      { death: { reason: 'permanent', error: 'no', at: t.now() } },
      t.message({ facts }),
    );
    const waiting = traveller(t, {}, t.message({ facts }));
    await transferOf(t).put([dead, waiting]);
    for (const { message } of [held!, dead, waiting])
      assert.partialDeepStrictEqual(await t.stores.records.get(message.id), facts);
    const plain = traveller(t);
    await transferOf(t).put([plain]);
    assert.equal((await t.stores.records.get(plain.message.id))!.name, null);
  });

  law('what is held is given to nobody, however much time passes, and is counted as leased', async (t) => {
    await t.put();
    await t.put({ notBefore: t.now() + minute });
    await t.put({ queue: reports });
    assert.equal((await holdAll(t)).length, 2);
    assert.equal((await t.admin.stats(mail))[0]!.leased, 2);
    assert.equal(await t.admin.clear(mail), 0);
    for (let i = 0; i < 3; i++) {
      await t.advance(day);
      await t.reap();
      await t.nothingComes([mail]);
    }
    assert.equal((await t.takeAll(10, { queues: [reports] })).length, 1);
    assert.deepEqual(await holdAll(t), []);
  });

  law(
    'held messages come in their order, ready before delayed, with all that is known of them',
    async (t) => {
      const later = await t.put({ notBefore: t.now() + hour });
      const soon = await t.put({ notBefore: t.now() + minute, priority: 8, tenantId: 'acme' });
      const normal = await t.put();
      const high = await t.put({ priority: 2 });
      const at = t.now();
      const held = await holdAll(t);
      const expected = [high, normal, soon, later];
      assert.deepEqual(
        held.map(({ message }) => ({ ...message, notBefore: null, hints: undefined })),
        expected.map((message) => ({ ...message, notBefore: null, hints: undefined })),
      );
      assert.deepEqual(
        held.map(({ message }) => message.notBefore),
        [at, at, at + minute, at + hour],
      );
      for (const { createdAt, attempts, interrupted, death } of held)
        assert.deepEqual([createdAt, attempts, interrupted, death], [at, 0, false, null]);
    },
  );

  law('a held message tells its attempts, their reports, and that the last was interrupted', async (t) => {
    const { id } = await t.put();
    await t.take({ leaseMs: second });
    await t.advance(2 * second);
    await t.reap();
    const [job] = await holdAll(t);
    assert.deepEqual([job!.attempts, job!.interrupted, job!.reports.length], [1, true, 1]);
    assert.equal(job!.reports[0]!.outcome, 'interrupted');
    assert.equal(await transferOf(t).release(mail, [id]), 1);
    const lease = await t.take();
    assert.deepEqual([lease.attempt, lease.interrupted], [2, true]);
  });

  law('what was released runs as if it had never been held', async (t) => {
    const delayed = await t.put({ notBefore: t.now() + hour });
    const [first, second_, high] = [await t.put(), await t.put(), await t.put({ priority: 0 })];
    const held = await holdAll(t);
    await t.advance(minute);
    const third = await t.put();
    assert.equal(await transferOf(t).release(mail, idsOf(held)), 4);
    assert.equal(await transferOf(t).release(mail, idsOf(held)), 0);
    const leases = await t.takeAll();
    assert.deepEqual(bodiesOf(leases), bodiesOf([high, first, second_, third]));
    assert.deepEqual([...new Set(leases.map(({ attempt }) => attempt))], [1]);
    for (const lease of leases) assert.equal(await t.ack(lease), true);
    await t.advance(hour - minute);
    assert.deepEqual(bodiesOf(await t.takeAll()), [delayed.body]);
  });

  law('what was removed is gone with its record, and its id may be used again', async (t) => {
    const message = await t.put();
    await t.put();
    const held = await holdAll(t);
    const [id, other] = idsOf(held);
    assert.deepEqual(await transferOf(t).remove(mail, [id!, 'unknown', id!]), [true, false, false]);
    assert.equal(await stateOf(t, id!), null);
    assert.deepEqual(idsOf(await transferOf(t).held(mail, 10)), [other]);
    assert.equal((await t.backend.enqueue([{ ...message, hints: {} }]))[0]!.ok, true);
    assert.equal((await t.take()).body, message.body);
  });

  law('only what is held in that queue can be released or removed', async (t) => {
    const { id } = await t.put();
    const [ended] = [await t.put({ queue: reports })];
    const lease = await t.take();
    const transfer = transferOf(t);
    assert.equal(await transfer.release(mail, [id, ended.id]), 0);
    assert.deepEqual(await transfer.remove(mail, [id, ended.id]), [false, false]);
    await holdAll(t, reports);
    assert.equal(await transfer.release(mail, [ended.id]), 0);
    assert.deepEqual(await transfer.remove(mail, [ended.id]), [false]);
    assert.equal(await t.ack(lease), true);
  });

  law(
    'a message that was put is held, and runs after its release with its attempts and its past',
    async (t) => {
      const job = traveller(t);
      const { id, body } = job.message;
      assert.deepEqual(await transferOf(t).put([job]), [{ ok: true, id, duplicate: false }]);
      await t.nothingComes();
      assert.deepEqual(
        await transferOf(t).held(mail, 10),
        [{ ...job, message: { ...job.message, hints: undefined } }].map((one) =>
          JSON.parse(JSON.stringify(one)),
        ),
      );
      await transferOf(t).release(mail, [id]);
      assert.equal(await stateOf(t, id), 'retrying');
      const lease = await t.take();
      assert.deepEqual([lease.body, lease.attempt, lease.interrupted], [body, 3, true]);
      const record = await t.stores.records.get(id);
      assert.deepEqual(
        [record!.createdAt, record!.priority, record!.attempts, record!.progress],
        [job.createdAt, 5, job.reports, job.progress],
      );
    },
  );

  law('messages that were put keep their order and their due time', async (t) => {
    const due = traveller(t, { createdAt: t.now() }, t.message({ notBefore: t.now() + hour }));
    const jobs = [traveller(t), traveller(t), traveller(t)];
    await transferOf(t).put([due, ...jobs]);
    await transferOf(t).release(mail, idsOf([due, ...jobs]));
    const bodies = (some: readonly MovedJob[]) => some.map(({ message }) => message.body);
    assert.deepEqual(bodiesOf(await t.takeAll()), bodies(jobs));
    await t.advance(hour);
    assert.deepEqual(bodiesOf(await t.takeAll()), bodies([due]));
  });

  law(
    'an id that is known is not stored again, whether it waits, is held, runs, is dead or done',
    async (t) => {
      const messages = [await t.put(), await t.put(), await t.put(), await t.put({ queue: reports })];
      const [done, dead] = [await t.take(), await t.take()];
      await t.ack(done);
      await t.backend.abandon(dead, { reason: 'permanent', error: '' });
      const held = traveller(t);
      await transferOf(t).put([held]);
      const copies = [held, ...messages.map((message) => traveller(t, {}, { ...message, queue: mail }))];
      const death = { reason: 'permanent' as const, error: 'x', at: t.now() };
      for (const round of [copies, copies.map((job) => ({ ...job, death }))]) {
        const results = await transferOf(t).put(round);
        assert.deepEqual(
          results.map((result) => result.ok && result.duplicate),
          copies.map(() => true),
        );
      }
      const twice = traveller(t);
      const results = await transferOf(t).put([twice, twice]);
      assert.deepEqual(
        results.map((result) => result.ok && result.duplicate),
        [false, true],
      );
      assert.equal((await t.admin.stats(mail))[0]!.ready, 1);
    },
  );

  law('a dead letter that was put is listed with its reason, and can be retried', async (t) => {
    const at = t.now() - hour;
    const death = { reason: 'exhausted' as const, error: 'HANDLER: "no"\n100% ü', at };
    const job = traveller(t, { death });
    const expired = traveller(t, { death: { reason: 'expired', error: '', at: at - 1 }, reports: [] });
    for (const result of await transferOf(t).put([job, expired])) assert.equal(result.ok, true);
    const { id, queue, job: name, body } = job.message;
    const [letter, other] = await t.admin.deadLetters.list({});
    assert.deepEqual(letter, {
      id,
      queue,
      job: name,
      body,
      attempt: 2,
      diedAt: at,
      reason: 'exhausted',
      error: death.error,
    });
    assert.equal(await stateOf(t, id), 'failed');
    assert.deepEqual((await t.stores.records.get(id))!.attempts, job.reports);
    assert.equal(await stateOf(t, other!.id), 'expired');
    assert.deepEqual(await transferOf(t).held(mail, 10), []);
    await t.nothingComes();
    assert.equal(await t.admin.deadLetters.retry([id]), 1);
    assert.equal((await t.take()).attempt, 1);
  });

  law('a body over the limit is refused, and its neighbours are stored', async (t) => {
    const large = t.message({ body: 'x'.repeat(t.backend.limits.maxBodyBytes + 1) });
    const [good, bad] = [traveller(t), traveller(t, {}, large)];
    const [first, second_] = await transferOf(t).put([good, bad]);
    assert.equal(first!.ok, true);
    assert.equal(second_!.ok === false && second_!.error.code, 'LIMIT');
  });

  law('a message that is cancelled while it is held ends so, and is not removed', async (t) => {
    const [first, other] = [await t.put(), await t.put()];
    const held = await holdAll(t);
    for (const { id } of [first, other]) assert.equal(await t.stores.records.cancel(id), 'cancelling');
    assert.deepEqual(await transferOf(t).remove(mail, [first.id]), [false]);
    assert.equal(await transferOf(t).release(mail, [other.id]), 1);
    for (const id of idsOf(held)) assert.equal(await stateOf(t, id), 'cancelled');
    assert.deepEqual(await transferOf(t).held(mail, 10), []);
    await t.nothingEverComes();
  });

  law('two that hold at once, and workers beside them, share what waits', async (t) => {
    for (let i = 0; i < 40; i++) await t.put();
    const request = { queues: [mail], max: 5, leaseMs: minute, waitMs: 0 };
    const ids: string[] = [];
    const identify = (body: string): string => JSON.parse(body).identifier;
    await Promise.all(
      t.openings.map(async (opening) => {
        for (let i = 0; i < 10; i++) {
          for (const { message } of await movable(opening).transfer!.hold(mail, 3)) ids.push(message.id);
          for (const { body } of await opening.fetch(request)) ids.push(identify(body));
        }
      }),
    );
    assert.equal(ids.length, 40);
    assert.equal(new Set(ids).size, 40);
  });

  law('a paused queue can be held and released, and stays paused', async (t) => {
    const { id, body } = await t.put();
    await t.admin.setPaused(mail, true);
    assert.deepEqual(idsOf(await holdAll(t)), [id]);
    await transferOf(t).release(mail, [id]);
    await t.nothingComes();
    await t.admin.setPaused(mail, false);
    assert.equal((await t.take()).body, body);
  });

  law('a fetch that waits gets what is released', async (t) => {
    const { body, id } = await t.put();
    await holdAll(t);
    const request = { queues: [mail], max: 1, leaseMs: minute, waitMs: 20 * second };
    const waiting = t.openings.at(-1)!.fetch(request);
    await new Promise(setImmediate);
    await transferOf(t).release(mail, [id]);
    await t.advance(20 * second);
    assert.deepEqual(bodiesOf(await waiting), [body]);
  });
}
