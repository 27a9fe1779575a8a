/** What a release has left half-way must be seen, and go on, with today's code. */

import assert from 'node:assert/strict';
import { type Contract, connect, keyRing, startWorker, tick } from '../../../../core/index.ts';
import { createOperator } from '../../../../core/operations/index.ts';
import { clockFrom, dayMs, everythingApp, hourMs, type StoredClock, signingKeys, storedAt } from './app.ts';

const sorted = (texts: string[]) => texts.toSorted();

/** Two hours after it was left, with a schedule in code and a stored one that are three moments behind. */
const readyAtFirst = [
  ...[
    'called half: 2 and 0',
    'dead',
    'delayed',
    'f1',
    'f2',
    'failing',
    'failing b2',
    'failing c2',
    'failing d2',
  ],
  ...[
    'failing entry',
    'hourly',
    'hourly',
    'hourly',
    'in use',
    'large 1',
    'large 2',
    'last 5,6',
    'left 4',
    'low',
  ],
  ...['parent: did b1,did failing b2', 'second entry', 'small 1', 'small 2'],
  ...[
    'stored-hourly',
    'stored-hourly',
    'stored-hourly',
    'stuck card',
    'sum of did d1,did failing d2',
    'urgent',
  ],
  ...['waits for a slot', 'waits for a slot too'],
];

interface Opened {
  readonly backend: Contract.QueueBackend;
  readonly store?: Contract.Stores;
}

/** @param open opens what was stored, with its tables brought to today's version */
export async function goOn(open: (clock: StoredClock) => Promise<Opened>): Promise<void> {
  const clock = clockFrom(storedAt + 2 * hourMs);
  const { backend, store } = await open(clock);
  const ran: string[] = [];
  const notices: string[] = [];
  let holds = true;
  let inShop = 0;
  /** Its limit is one at a time. */
  const alone = async (what: string) => {
    assert.equal(++inShop, 1, what);
    await new Promise((resolve) => setTimeout(resolve, 20));
    inShop--;
  };
  let ids = 0;
  const { app, jobs } = everythingApp({
    clock,
    act: async (what, { job }) => {
      ran.push(what);
      if (job === 'shop.sync') await alone(what);
      return `did ${what}`;
    },
    holds: () => holds,
    notified: (text) => void notices.push(text),
    newId: () => `new-${++ids}`,
    // Version 0.1.0 signed no schedules.
    signing: keyRing(signingKeys, { acceptUnsignedUntil: new Date(storedAt + 90 * dayMs) }),
  });
  const options = store ? { store } : {};
  const client = connect(app, backend, options);
  const operator = createOperator(client, { actor: 'ben', from: 'api' });
  const { records, metrics, audit, workers } = client.stores;
  /** What ran since the last call. */
  const work = async () => {
    for (const queue of app.queues) await backend.reapExpired(queue);
    for (let before = -1; ran.length > before; ) {
      before = ran.length;
      // What an end makes ready may come a moment later than the worker finds nothing.
      await startWorker(app, { backend, ...options, untilIdle: true, concurrency: 4 }).done;
    }
    return ran.splice(0);
  };
  try {
    // Lists.
    const statuses = Map.groupBy((await records.page({ max: 1_000 })).records, ({ status }) => status);
    const count = (status: Contract.JobStatus) => statuses.get(status)?.length ?? 0;
    assert.deepEqual(
      ['failed', 'cancelled'].map((status) => count(status as never)),
      [1, 1],
    );
    const [done] = (await records.page({ job: 'mail.send', tenantId: 'tenant-1' })).records;
    assert.partialDeepStrictEqual(done, {
      ...{ name: 'A label', status: 'completed', requestId: 'request-1', output: 'did done' },
      progress: { done: 5, total: 10, message: 'half' },
      attempts: [{ attempt: 1, outcome: 'acked' }],
    });
    const [failing] = (await records.page({ job: 'mail.send', status: 'retrying' })).records;
    assert.match(failing!.attempts[0]!.error!.message, /other side is down/);
    const [dead, ...noOther] = await backend.admin!.deadLetters.list({});
    assert.deepEqual([dead!.job, dead!.reason, noOther], ['mail.send', 'permanent', []]);
    const [quiet] = await backend.admin!.stats('quiet');
    assert.partialDeepStrictEqual(quiet, { ready: 1, paused: true });
    const { entries } = await audit!.page({});
    assert.deepEqual(
      entries.map(({ action, target, phase, actor }) => `${actor}: ${action} ${target} ${phase}`).sort(),
      ['job.pause report.print', 'queue.pause quiet'].flatMap((what) => [
        `anna: ${what} begun`,
        `anna: ${what} done`,
      ]),
    );
    for (const step of ['minute', 'hour', 'day'] as const) {
      const rows = await metrics!.read({ step, from: 0, to: clock.now(), queue: 'mail', job: 'mail.send' });
      assert.equal(rows.length, step === 'minute' ? 2 : 1, step);
    }
    const beats = await workers.list(0);
    assert.partialDeepStrictEqual(beats, [{ queues: ['shop', 'default'], concurrency: 3 }]);
    assert.equal(beats.length, 1);

    // Schedules.
    const { schedules } = await client.schedules.list();
    assert.deepEqual(
      schedules.map(({ name, timing, pausedAt }) => [name, timing, pausedAt !== null]),
      [
        ['stored-hourly', 'every 3600000 ms', false],
        ['stored-off', '30 2 * * * (Europe/Berlin)', true],
      ],
    );
    assert.equal((await tick(app, client)).length, 6, 'of two schedules those of 12, 13 and 14 o’clock');
    assert.equal(await client.schedules.resume('off'), true);
    assert.equal(await client.schedules.resume('stored-off'), true);

    // Unique jobs stand, alerts go on.
    const [unique] = (await records.page({ job: 'customer.sync' })).records;
    const again = await client.enqueue(jobs.unique, { label: 'another' }, { delayMs: hourMs });
    assert.deepEqual([again.id, again.duplicate], [unique!.id, true]);
    assert.equal((await client.enqueue(jobs.throttled, { label: 'again' })).duplicate, true);
    await app.alerts!.evaluate(client as never, 'worker');
    assert.deepEqual(notices, [], 'it has been told of');

    // Batches and chains as they are.
    const states = Object.fromEntries((await client.batches.list()).map((batch) => [batch.id, batch]));
    assert.partialDeepStrictEqual(states, {
      called: { state: 'complete', total: 2, succeeded: 2 },
      uncalled: { total: 2, succeeded: 2 },
      half: { state: 'running', total: 2, succeeded: 1 },
      awaited: { state: 'running', succeeded: 1 },
      summed: { state: 'running', succeeded: 1 },
      sending: { state: 'sending' },
    });
    const chain = await client.chains.get('chain');
    assert.deepEqual([chain!.state, chain!.link], ['running', 2]);

    // What is ready runs, and what failed an hour before; slots, leases and keys of the process that was killed are free again.
    await operator.deadLetters.retry({ ids: [dead!.id] });
    const first = await work();
    assert.deepEqual(first.toSorted(), readyAtFirst);
    assert.ok(first.indexOf('failing entry') < first.indexOf('second entry'), 'a group that is ordered');
    assert.equal(await client.emit('packed', 'ben', { key: 'waiter' }), 1);
    await operator.queues.resume('quiet');
    await operator.jobs.resume('report.print');
    assert.deepEqual(await work().then(sorted), [
      'in a quiet queue',
      'paused job',
      'waiter: ship, packed by ben',
    ]);
    const items = (...labels: string[]) => labels.map((label) => ({ label }));
    const batch = { job: jobs.child, onComplete: jobs.called };
    await client.batch('sending', items('f1', 'f2', 'f3'), { id: 'sending', ...batch });
    await client.batch('uncalled', items('e1', 'e2'), { id: 'uncalled', ...batch });
    await client.batch('called', items('a1', 'a2'), { id: 'called', ...batch });
    clock.jump(4 * hourMs);
    assert.deepEqual(await work().then(sorted), [
      ...['called sending: 3 and 0', 'called uncalled: 2 and 0', 'debounced', 'f3', 'price-2'],
      ...['sleeper: ship, did sleeper: charge', 'unique'],
    ]);
    clock.jump(4 * hourMs);
    assert.deepEqual(await work().then(sorted), ['failing sms 1', 'failing sms 2', 'sms 3']);
    assert.ok((await client.batches.list()).every(({ outcome }) => outcome === 'succeeded'));
    assert.equal((await client.chains.get('chain'))!.state, 'completed');
    const ended = (await records.page({ max: 1_000 })).records;
    const isDone = ({ status, attempts: [one] }: Contract.JobRecord) =>
      status === 'completed' || one === undefined;
    assert.ok(ended.every(isDone), 'all but the one that was cancelled are completed');
    holds = false;
    clock.jump(60_000); // a worker that took some seconds has looked at the alerts, and they are looked at once a minute
    await app.alerts!.evaluate(client as never, 'worker');
    assert.deepEqual(notices, ['resolved']);
  } finally {
    await client.close();
  }
}
