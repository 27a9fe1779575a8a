/** How long a tenant with three jobs waits behind one with 100,000. */

import { systemClock, uuidv7 } from '../../../core/base/clock.ts';
import type { OutgoingMessage, QueueBackend } from '../../../core/contract/queue.ts';
import { type Bench, limitRow, type Row } from './bench.ts';

const many = 100_000;
const few = 3;
const perCall = 1_000;
const perFetch = 10;
/** Of the jobs that end before the last one of the few does. With fair shares it is hardly more than twice their number. */
const mostBefore = 2 * perFetch;

function messageOf(group: string): OutgoingMessage {
  const id = uuidv7(systemClock.now());
  const body = JSON.stringify({ v: 1, job: 'work', identifier: id, payload: 'x'.repeat(300) });
  const facts = { id, body, queue: 'groups', job: 'work', priority: 5, notBefore: null, tenantId: null };
  return { ...facts, group, hints: { isNew: true } };
}

const messages = (count: number, group: string) => Array.from({ length: count }, () => messageOf(group));

export async function groups(bench: Bench, open: () => Promise<QueueBackend>): Promise<Row[]> {
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
