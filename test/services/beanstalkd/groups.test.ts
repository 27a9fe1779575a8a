/** Groups take turns in beanstalkd by the ranks that their senders give. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OutgoingMessage, QueueBackend } from '../../../core/contract/queue.ts';
import { type BeanstalkdOptions, beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { message as bare } from '../sqlite/messages.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

let server: BeanstalkdServer;
let prefix: string;
let count = 0;
const opened: QueueBackend[] = [];
const clock = createVirtualClock(Date.UTC(2026, 0, 15, 12));
beforeAll(async () => {
  server = await startBeanstalkd();
});
afterAll(async () => {
  for (const backend of opened) await backend.close();
  await server.remove();
});

/** A tube of its own, or another process at the tube before. */
function open(again = false, options: Partial<BeanstalkdOptions> = {}): QueueBackend {
  if (!again) prefix = `turns-${++count}-`;
  const backend = beanstalkd({ url: server.url, prefix, store: memoryStore(), clock, ...options });
  opened.push(backend);
  return backend;
}

async function put(backend: QueueBackend, name: string, many: number, parts: Partial<OutgoingMessage> = {}) {
  const messages = Array.from({ length: many }, (_, n) =>
    bare({
      id: `${prefix}${name}${n}`,
      body: JSON.stringify({ identifier: `${name}${n}`, priority: 5 }),
      ...parts,
    }),
  );
  expect((await backend.enqueue(messages)).every(({ ok }) => ok)).toBe(true);
}

/** One after the other, as a worker with one slot has them. */
async function drain(backend: QueueBackend, most = 10_000): Promise<string[]> {
  const names: string[] = [];
  while (names.length < most) {
    const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 });
    if (!lease) break;
    names.push(JSON.parse(lease.body).identifier);
    expect(await backend.ack([{ lease }])).toEqual([true]);
  }
  return names;
}

it('three jobs of a group come among the first of a thousand of another, and jobs without a group before most', async () => {
  const backend = open();
  await put(backend, 'many', 1_000, { group: 'many' });
  await put(backend, 'few', 3, { group: 'few' });
  await put(backend, 'plain', 2);
  const order = await drain(backend);
  expect(order).toHaveLength(1_005);
  const first = order.slice(0, 8);
  expect(first).toEqual(['many0', 'few0', 'plain0', 'plain1', 'many1', 'few1', 'many2', 'few2']);
  expect(order.filter((name) => name.startsWith('many'))).toEqual(
    Array.from({ length: 1_000 }, (_, n) => `many${n}`),
  );
});

it('a group that comes while another is under way does not catch up what that one has had, whoever sends it', async () => {
  const backend = open();
  await put(backend, 'many', 200, { group: 'many' });
  await drain(backend, 100);
  await put(open(true), 'late', 50, { group: 'late' });
  const order = await drain(backend, 40);
  expect(order.filter((name) => name.startsWith('late'))).toHaveLength(20);
});

it('what a group had is forgotten when the tube was emptied, and held against nobody whose jobs others have taken', async () => {
  const backend = open();
  await put(backend, 'many', 100, { group: 'many' });
  await drain(backend);
  clock.advance(1_000);
  await put(backend, 'other', 3, { group: 'other' });
  await put(backend, 'again', 2, { group: 'many' });
  expect(await drain(backend, 5)).toEqual(['other0', 'again0', 'other1', 'again1', 'other2']);
  // Another process sees that three wait, and knows by it that those of its own group have gone.
  await put(backend, 'more', 100, { group: 'many' });
  await drain(backend);
  await put(open(true), 'third', 3, { group: 'third' });
  clock.advance(1_000);
  await put(backend, 'last', 1, { group: 'many' });
  const order = await drain(backend);
  expect(order.indexOf('last0')).toBeLessThanOrEqual(3);
});

it('a job of a group that fails or is delayed comes at its time, and priorities count', async () => {
  const backend = open();
  await put(backend, 'many', 50, { group: 'many' });
  const critical = JSON.stringify({ identifier: 'critical', priority: 0 });
  await backend.enqueue([bare({ id: `${prefix}critical`, body: critical, priority: 0, group: 'many' })]);
  await put(backend, 'later', 1, { group: 'many', notBefore: clock.now() + 3_600_000 });
  const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 });
  expect(JSON.parse(lease!.body).identifier).toBe('critical');
  expect(await backend.nack(lease!, { delayMs: 0, countAttempt: true })).toBe(true);
  expect(await drain(backend, 3)).toEqual(['critical', 'many0', 'many1']);
});

it('the server is asked at most once a second, and not at all without groups', async () => {
  const backend = open();
  await put(backend, 'plain', 10);
  const asked = () => server.count('cmd-peek-ready');
  const before = await asked();
  await put(backend, 'more', 10);
  expect((await asked()) - before).toBe(0);
  clock.advance(1_000);
  for (let n = 0; n < 5; n++) await put(backend, `g${n}-`, 3, { group: `g${n}` });
  expect((await asked()) - before).toBe(1);
  const [stats] = await backend.admin!.stats('default');
  expect(stats).toMatchObject({ ready: 35 });
});
