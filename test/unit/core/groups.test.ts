/** Groups from the app's options to the message. */

import { describe, expect, it } from 'vitest';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import { createApp } from '../../../core/features/table.ts';
import { connect } from '../../../core/routing/connect.ts';
import { startWorker } from '../../../core/routing/worker.ts';
import { sqs } from '../../../functions/aws/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { messageOf, rowOf } from '../../../local/outbox/send.ts';
import { job, refusalText, ring } from './kit.ts';

const mail = job({ name: 'mail', queue: 'mail' });
const report = job({ name: 'report', queue: 'reports' });
const appOf = (order: unknown) =>
  createApp({ jobs: [mail, report], signing: ring, queues: { mail: { order: order as 'group' } } });

/** The message of each call, as the queue gets it. */
function sender(order: unknown) {
  const queue = memory();
  const sent: OutgoingMessage[] = [];
  const backend = {
    ...queue,
    enqueue: (messages: readonly OutgoingMessage[]) => {
      sent.push(...messages);
      return queue.enqueue(messages);
    },
  };
  return { client: connect(appOf(order), backend), sent };
}

describe('a group', () => {
  it.each([
    ['group', 'wait'],
    [{ by: 'group' }, 'wait'],
    [{ by: 'group', onRetry: 'wait' }, 'wait'],
    [{ by: 'group', onRetry: 'step-aside' }, 'step-aside'],
  ])('has the order %j of its queue: %s', async (option, order) => {
    const { client, sent } = sender(option);
    await client.enqueue(mail, {}, { group: 'tenant-7' });
    await client.enqueue(mail, {});
    await client.enqueue(report, {}, { group: 'tenant-7' });
    await client.enqueue(report, {}, { group: 'tenant-7', queue: 'mail' });
    expect(sent.map(({ group, order }) => [group, order])).toEqual([
      ['tenant-7', order],
      [null, undefined],
      ['tenant-7', undefined],
      ['tenant-7', order],
    ]);
    expect(sent[1]).not.toHaveProperty('order');
  });

  it.each([
    ['', '""'],
    ['x'.repeat(257), `"${'x'.repeat(57)}..."`],
    [7, '7'],
  ])('of %j is refused', async (group, shown) => {
    const { client } = sender('group');
    const refused = await refusalText(() => client.enqueue(mail, {}, { group: group as string }));
    expect(refused).toBe(`OPTION: Expected a group of 1 to 256 characters, got ${shown}.`);
  });

  it('keeps its order in the row of an outbox', () => {
    const message = { id: '1', queue: 'mail', job: 'mail', body: '{}', priority: 5, notBefore: null };
    const ordered = { ...message, group: 'a', tenantId: null, order: 'step-aside' } as const;
    expect(messageOf(rowOf(ordered).text)).toEqual(ordered);
    expect(messageOf(rowOf({ ...ordered, order: 'sideways' as 'wait' }).text)).not.toHaveProperty('order');
  });
});

describe('the order of a queue', () => {
  it.each(['tenant', null, true, {}, { by: 'job' }, { by: 'group', onRetry: 'skip' }])(
    'is refused as %j',
    async (order) => {
      expect(await refusalText(() => appOf(order))).toMatch(
        /^CONFIG: Expected order of queue "mail" to be 'group' or \{ by: 'group', onRetry: 'wait' or 'step-aside' \}, got /,
      );
    },
  );

  it('is refused at the start where the backend keeps none', async () => {
    const { keepsOrder: _, ...backend } = memory();
    const text = `CONFIG: Queue "mail" has order: 'group' (on a retry: wait), which backend "memory" does not support. Leave order out, or use another backend: docs/groups.md.`;
    expect(await refusalText(() => connect(appOf('group'), backend))).toBe(text);
    expect(await refusalText(() => startWorker(appOf('group'), { backend }))).toBe(text);
  });

  it('is kept by the FIFO queues of SQS, where the others wait', async () => {
    const url = 'https://sqs.eu-central-1.amazonaws.com/123456789012/mail';
    const store = memoryStore();
    const fifo = sqs({ queues: { mail: `${url}.fifo` }, keys: store.keys });
    expect(connect(appOf('group'), fifo, { store }).backend.name).toBe('sqs');
    const stepAside = { by: 'group', onRetry: 'step-aside' };
    for (const [order, backend] of [
      [stepAside, fifo],
      ['group', sqs({ queues: { mail: url } })],
    ] as const)
      expect(await refusalText(() => connect(appOf(order), backend, { store }))).toMatch(
        /which backend "sqs" does not support/,
      );
  });
});
