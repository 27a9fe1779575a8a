/** What operators look at when there are a million jobs: half of them wait, 400,000 are done and 100,000 are dead letters of one error. */

import { systemClock, uuidv7 } from '../../../core/base/clock.ts';
import type { JobLease, OutgoingMessage, QueueBackend } from '../../../core/contract/queue.ts';
import type { RecordFilter } from '../../../core/contract/store.ts';
import { pageOfDeadLetters } from '../../../core/kit/records/dead-letter-pages.ts';
import { type Bench, limitRow, type Row } from './bench.ts';
import { dashboardPages } from './dashboard.ts';

const half = 500_000;
const perCall = 1_000;
/** Of ten jobs that end. */
const dyingOfTen = 2;
const longestMs = 200;
const error = 'HANDLER: connect ECONNREFUSED 10.0.0.7:5432';
const queues = Array.from({ length: 10 }, (_, i) => `queue${i}`);

function messageOf(number: number): OutgoingMessage {
  const id = uuidv7(systemClock.now());
  const [queue, job] = [queues[Math.floor(number / 10) % 10]!, `job${number % 7}`];
  const tenantId = number % 3 === 0 ? `tenant${number % 50}` : null;
  const facts = { idempotencyKey: `order:${number}`, ...(number % 50 === 0 && { schedule: 'nightly' }) };
  const body = JSON.stringify({ v: 1, job, identifier: id, queue, payload: 'x'.repeat(300) });
  return { id, body, queue, job, priority: 5, notBefore: null, group: null, tenantId, facts };
}

async function enqueue({ enqueue }: QueueBackend, from: number): Promise<void> {
  for (let first = from; first < from + half; first += perCall)
    await enqueue(Array.from({ length: perCall }, (_, i) => messageOf(first + i)));
}

async function end(backend: QueueBackend): Promise<void> {
  const reportOf = ({ attempt }: JobLease, failed: boolean) => ({
    ...{ attempt, startedAt: systemClock.now(), endedAt: systemClock.now(), output: null },
    ...{
      outcome: failed ? ('dead-lettered' as const) : ('acked' as const),
      worker: 'worker-3',
      host: 'host-1',
    },
    error: failed ? { code: 'HANDLER', message: error } : null,
  });
  for (;;) {
    const leases = await backend.fetch({ queues, max: perCall, leaseMs: 60_000, waitMs: 0 });
    if (leases.length === 0) return;
    const isDying = (_: JobLease, i: number) => i % 10 < dyingOfTen;
    const dying = leases.filter(isDying);
    await backend.ack(
      leases
        .filter((one) => !dying.includes(one))
        .map((lease) => ({ lease, report: reportOf(lease, false) })),
    );
    await Promise.all(
      dying.map((lease) =>
        backend.abandon(lease, { reason: 'exhausted', error, report: reportOf(lease, true) }),
      ),
    );
  }
}

const filters: Readonly<Record<string, RecordFilter>> = {
  all: {},
  waiting: { status: 'pending' },
  running: { status: 'processing' },
  retrying: { status: 'retrying' },
  completed: { status: 'completed' },
  failed: { status: 'failed' },
  cancelled: { status: 'cancelled' },
  expired: { status: 'expired' },
  'of a job': { job: 'job3' },
  'of a job that has none': { job: 'nothing' },
  'of a queue': { queue: 'queue3' },
  'of a queue that is empty': { queue: 'nothing' },
  'of a tenant': { tenantId: 'tenant3' },
  'with a short prefix': { idPrefix: '01' },
  'with a key': { idempotencyKey: 'order:500' },
  'of a schedule': { schedule: 'nightly' },
  'of a worker': { worker: 'worker-3' },
  'of a worker that has run none': { worker: 'nobody' },
  'with an error': { error: 'ECONNREFUSED' },
  'with an error that none has': { error: 'nothing' },
  'of a time': { createdFrom: 1, createdBefore: systemClock.now() },
  'of a time without any': { createdFrom: 1, createdBefore: 2 },
};

/** By name, what a page of the dashboard asks. */
async function callsOf({ admin, stores }: QueueBackend): Promise<Record<string, () => Promise<unknown>>> {
  const { records, workers, metrics } = stores!;
  const { deadLetters, stats, peek } = admin!;
  const page = await pageOfDeadLetters(deadLetters, {});
  const { id } = page.letters[0]!;
  const hour = { step: 'minute' as const, from: systemClock.now() - 3_600_000, to: systemClock.now() };
  const lists = Object.entries(filters).map(
    ([name, filter]) => [`a page of jobs: ${name}`, () => records.page({ ...filter, max: 50 })] as const,
  );
  return {
    'the counts of all queues': () => stats(),
    'the counts of a queue': () => stats('queue3'),
    'a peek': () => peek('queue3', 50),
    ...Object.fromEntries(lists),
    'a page of dead letters': () => pageOfDeadLetters(deadLetters, {}),
    'the next page of them': () => pageOfDeadLetters(deadLetters, { after: page.next! }),
    'a page of the dead letters of a queue': () => pageOfDeadLetters(deadLetters, { queue: 'queue3' }),
    'a dead letter': () => deadLetters.get!(id),
    'a job': () => records.get(id),
    'the workers': () => workers!.list(0),
    'the numbers of an hour': () => metrics!.read(hour),
  };
}

export async function million(bench: Bench, backend: QueueBackend): Promise<Row[]> {
  await enqueue(backend, 0);
  await end(backend);
  await enqueue(backend, half);
  const rows: Row[] = [];
  for (const [name, call] of Object.entries(await callsOf(backend))) {
    const samples: number[] = [];
    for (let round = 0; round < bench.rounds; round++) {
      const began = performance.now();
      await call();
      samples.push(performance.now() - began);
    }
    rows.push(limitRow(`1M jobs: ${name}`, 'ms', samples, longestMs));
  }
  return [...rows, ...(await dashboardPages(bench, backend))];
}
