/** Everything that version 0.1 has stored must be read, and run, by today's code. */

import assert from 'node:assert/strict';
import { type Contract, connect, startWorker, tick } from '../../../core/index.ts';
import { beat, clockAt, storedApp, storedAt } from './app.ts';

const hourMs = 3_600_000;

export async function readAndRun(
  open: (clock: ReturnType<typeof clockAt>) => Contract.QueueBackend,
): Promise<void> {
  const clock = clockAt(storedAt + 2 * hourMs);
  const backend = open(clock);
  const ran: string[] = [];
  const { app } = storedApp(clock, async (to) => void ran.push(to));
  const client = connect(app, backend);
  try {
    await read(backend);
    assert.equal(await backend.reapExpired('mail'), 1);
    assert.equal(await backend.admin!.deadLetters.retry(['dead']), 1);
    await backend.admin!.resume('quiet');
    const queues = ['mail', 'cards', 'quiet'];
    const { counts } = await startWorker(app, { backend, queues, untilIdle: true }).done;
    assert.deepEqual(ran.sort(), ['dead', 'delayed', 'failing', 'paused', 'ready', 'urgent', 'vanished']);
    assert.equal(counts.acked, 7);
    assert.equal(counts['skipped-idempotent'], 1);
    await readAgain(backend);
    const numbers = await backend.stores!.metrics!.read({ step: 'minute', from: 0, to: clock.now() });
    assert.deepEqual(new Set(numbers.map(({ job }) => job)), new Set(['mail.send', 'card.charge']));
    assert.equal(
      (await tick(app, client)).length,
      2,
      'one report for each hour since the files were written',
    );
  } finally {
    await client.close();
  }
}

async function read({ admin, stores }: Contract.QueueBackend): Promise<void> {
  const { records, workers } = stores!;
  const expected: Readonly<Record<string, Partial<Contract.JobRecord>>> = {
    done: { status: 'completed', output: { sent: 'done' } },
    charged: { status: 'completed', output: { sent: 'card-1' } },
    failing: { status: 'retrying', queue: 'mail', job: 'mail.send' },
    dead: { status: 'failed', reason: 'permanent' },
    cancelled: { status: 'cancelled', reason: 'cancelled' },
    vanished: { status: 'processing', priority: 0 },
    ready: { status: 'pending', priority: 8, tenantId: 'tenant-1' },
    delayed: { status: 'pending' },
  };
  for (const [id, facts] of Object.entries(expected))
    assert.partialDeepStrictEqual(await records.get(id), facts);
  const { attempts, progress } = (await records.get('done'))!;
  assert.deepEqual(
    attempts.map(({ attempt, outcome }) => [attempt, outcome]),
    [[1, 'acked']],
  );
  assert.partialDeepStrictEqual(progress, { done: 5, total: 10, message: 'half' });
  assert.match((await records.get('failing'))!.attempts[0]!.error!.message, /mail server is down/);
  assert.equal((await records.list({})).length, 11);
  const [dead, ...others] = await admin!.deadLetters.list({});
  assert.partialDeepStrictEqual(dead, { id: 'dead', attempt: 1, reason: 'permanent' });
  assert.deepEqual(others, []);
  const [mail] = await admin!.stats('mail');
  assert.partialDeepStrictEqual(mail, { ready: 4, delayed: 0, leased: 1, dead: 1, paused: false });
  assert.partialDeepStrictEqual((await admin!.stats('quiet'))[0], { ready: 1, paused: true });
  const [seen, ...rest] = await workers!.list(storedAt);
  assert.deepEqual([{ ...seen, seenAt: beat.seenAt }, ...rest], [beat]);
  // By the clock of the database it is so long ago, and the clock goes on while it is asked.
  assert.ok(Math.abs(seen!.seenAt - beat.seenAt) < 1_000);
}

async function readAgain({ stores }: Contract.QueueBackend): Promise<void> {
  const { get } = stores!.records;
  for (const id of ['failing', 'vanished', 'dead', 'paused', 'charged-again'])
    assert.equal((await get(id))!.status, 'completed', id);
  const outcomes = async (id: string) => (await get(id))!.attempts.map(({ outcome }) => outcome);
  assert.deepEqual(await outcomes('failing'), ['requeued', 'acked']);
  assert.deepEqual(await outcomes('vanished'), ['interrupted', 'acked']);
}
