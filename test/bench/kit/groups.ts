/** How long a tenant with three jobs waits behind one with 100,000, and what a group costs. */

import { systemClock, uuidv7 } from '../../../core/base/clock.ts';
import type { OutgoingMessage, QueueBackend } from '../../../core/contract/queue.ts';
import { type Bench, limitRow, type Pair, type Row, ratioRow } from './bench.ts';
import { perSecond } from './task.ts';

const many = 100_000;
const few = 3;
const perCall = 1_000;
const perFetch = 10;
/** Of the jobs that end before the last one of the few does. With fair shares it is hardly more than twice their number. */
const mostBefore = 2 * perFetch;

const compared = 3_000;
const comparedPerFetch = 50;
const kinds = ['100 groups', '1 group', '100 groups in order'] as const;
type Kind = (typeof kinds)[number] | 'no group';

function messageOf(queue: string, parts: Pick<OutgoingMessage, 'group' | 'order'>): OutgoingMessage {
  const id = uuidv7(systemClock.now());
  const body = JSON.stringify({ v: 1, job: 'work', identifier: id, payload: 'x'.repeat(300) });
  const facts = { id, body, queue, job: 'work', priority: 5, notBefore: null, tenantId: null };
  return { ...facts, ...parts, hints: { isNew: true } };
}

const messages = (count: number, group: string) =>
  Array.from({ length: count }, () => messageOf('groups', { group }));

export async function groups(bench: Bench, open: () => Promise<QueueBackend>): Promise<Row[]> {
  return [...(await waiting(bench, open)), ...(await costs(bench, open))];
}

async function waiting(bench: Bench, open: () => Promise<QueueBackend>): Promise<Row[]> {
  const before: number[] = [];
  const waited: number[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    const backend = await open();
    for (let sent = 0; sent < many; sent += perCall) await backend.enqueue(messages(perCall, 'many'));
    const small = messages(few, 'few');
    await backend.enqueue(small);
    const bodies = new Set(small.map(({ body }) => body));
    const began = performance.now();
    let ended = 0;
    while (bodies.size > 0) {
      const leases = await backend.fetch({ queues: ['groups'], max: perFetch, leaseMs: 60_000, waitMs: 0 });
      await backend.ack(leases.map((lease) => ({ lease })));
      ended += leases.length;
      for (const { body } of leases) bodies.delete(body);
    }
    waited.push(performance.now() - began);
    before.push(ended);
    await backend.admin!.clear('groups');
    await backend.close();
  }
  return [
    limitRow(
      `${few} jobs behind ${many} of another group: jobs until they are done`,
      'jobs',
      before,
      mostBefore,
    ),
    limitRow(`${few} jobs behind ${many} of another group: time until they are done`, 'ms', waited, null),
  ];
}

/** Jobs per second of both ways through the queue, in this process. */
async function pass(backend: QueueBackend, kind: Kind): Promise<{ enqueued: number; drained: number }> {
  const queue = `of-${kind.replaceAll(' ', '-')}`;
  const groupOf = (i: number) => (kind === 'no group' ? null : kind === '1 group' ? 'a' : `g${i % 100}`);
  const order = kind === '100 groups in order' ? { order: 'wait' as const } : {};
  const all = Array.from({ length: compared }, (_, i) => messageOf(queue, { group: groupOf(i), ...order }));
  let began = performance.now();
  for (let sent = 0; sent < compared; sent += perCall) await backend.enqueue(all.slice(sent, sent + perCall));
  const enqueued = perSecond(compared, performance.now() - began);
  began = performance.now();
  for (let left = compared; left > 0; ) {
    const leases = await backend.fetch({
      queues: [queue],
      max: comparedPerFetch,
      leaseMs: 60_000,
      waitMs: 0,
    });
    await backend.ack(leases.map((lease) => ({ lease })));
    left -= leases.length;
  }
  return { enqueued, drained: perSecond(compared, performance.now() - began) };
}

async function costs(bench: Bench, open: () => Promise<QueueBackend>): Promise<Row[]> {
  const backend = await open();
  for (const kind of ['no group', ...kinds] as const) await pass(backend, kind); // compiled
  const rows: Row[] = [];
  for (const kind of kinds) {
    const enqueued: Pair[] = [];
    const drained: Pair[] = [];
    for (let round = 0; round < bench.rounds; round++) {
      const pair = round % 2 === 0 ? ([kind, 'no group'] as const) : (['no group', kind] as const);
      const [first, second] = [await pass(backend, pair[0]), await pass(backend, pair[1])];
      const [ours, theirs] = round % 2 === 0 ? [first, second] : [second, first];
      enqueued.push({ ours: ours.enqueued, theirs: theirs.enqueued });
      drained.push({ ours: ours.drained, theirs: theirs.drained });
    }
    const against = 'no group';
    rows.push(ratioRow(`enqueue in chunks of ${perCall}, ${kind}`, 'jobs/s', enqueued, null, against));
    rows.push(
      ratioRow(`fetch and ack ${comparedPerFetch} at a time, ${kind}`, 'jobs/s', drained, null, against),
    );
  }
  await backend.close();
  return rows;
}
