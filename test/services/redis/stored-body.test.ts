/** Bodies as Redis stores them, and as version 0.1 has stored them. */

import { expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { message } from '../sqlite/messages.ts';
import { open, server, take } from './kit.ts';

const job = defineJob({
  name: 'mail.send',
  payload: z.object({ userId: z.number() }),
  handle: async () => {},
});
const bare = defineJob({ name: 'cleanup', payload: z.undefined(), handle: async () => {} });
const signing = keyRing([{ kid: 'k1', secret: new Uint8Array(32).fill(7) }]);
const app = createApp({ jobs: [job, bare], signing });

/** Puts the body back as version 0.1 stored it. */
async function storeAsBefore(prefix: string, id: string, body: string): Promise<void> {
  const key = `${prefix}:{default}:jobs`;
  const [head, facts, stored] = String(await server.command('HGET', key, id)).split('\n');
  expect(stored).toMatch(/^=/);
  await server.command('HSET', key, id, `${head}\n${facts}\n${body}`);
}

it('a waiting job that version 0.1 has stored is listed, changed and run', async () => {
  const { backend, prefix } = open();
  const client = connect(app, backend);
  const { id } = await client.enqueue(job, { userId: 1 }, { context: { tenantId: 'acme' } });
  const place = { queue: 'default', id };
  const body = (await backend.pending!.read(place))!;
  await storeAsBefore(prefix, id, body);
  expect(await backend.pending!.read(place)).toBe(body);
  expect((await backend.stores!.records.page({ tenantId: 'acme' })).records).toMatchObject([{ id }]);
  const change = { body: `${body} ` };
  expect(await backend.pending!.change([place], { ...change, expectedBody: 'another' })).toEqual([false]);
  expect(await backend.pending!.change([place], { ...change, expectedBody: body })).toEqual([true]);
  expect(await backend.fetch(take)).toMatchObject([{ body: `${body} ` }]);
});

it.each([0, 1])('a change compares the body, layout %i', async (layout) => {
  const { backend } = open();
  const client = connect(app, backend);
  const options = layout === 0 ? {} : { idempotencyKey: 'once' };
  const [first, second] = await Promise.all([
    client.enqueue(job, { userId: 1 }, options),
    client.enqueue(job, { userId: 2 }),
  ]);
  const place = { queue: 'default', id: first.id };
  const body = (await backend.pending!.read(place))!;
  const other = (await backend.pending!.read({ queue: 'default', id: second.id }))!;
  const change = { body: other };
  expect(await backend.pending!.change([place], { ...change, expectedBody: other })).toEqual([false]);
  expect(await backend.pending!.change([place], { ...change, expectedBody: body })).toEqual([true]);
  expect(await backend.pending!.read(place)).toBe(other);
});

it('a list of dead letters says how long their bodies are, without reading payloads', async () => {
  const { backend } = open();
  const client = connect(app, backend);
  await client.enqueue(job, { userId: 1 });
  await client.enqueue(bare, undefined);
  await client.enqueue(job, { userId: 2 }, { idempotencyKey: 'once' });
  await backend.enqueue([
    message({ id: 'another', body: 'no envelope' }),
    message({ id: 'marked', body: '=5' }),
  ]);
  const leases = await backend.fetch(take);
  for (const lease of leases) await backend.abandon(lease, { reason: 'exhausted', error: 'E' });
  const { letters } = await backend.admin!.deadLetters.page!({});
  const whole = await backend.admin!.deadLetters.list({});
  expect(letters).toHaveLength(5);
  for (const { id, bytes } of letters) {
    const body = whole.find((one) => one.id === id)!.body;
    expect(leases.map((lease) => lease.body)).toContain(body);
    expect(bytes).toBe(Buffer.byteLength(body));
  }
});

it('a waiting job with a small payload takes at most 450 bytes', async () => {
  const { backend, prefix } = open();
  const count = 20_000;
  const results = await connect(app, backend).enqueueMany(
    job,
    Array.from({ length: count }, (_, userId) => ({ userId })),
  );
  expect(results.every(({ ok }) => ok)).toBe(true);
  const used = ['jobs', 'ready'].map((part) =>
    server.command('MEMORY', 'USAGE', `${prefix}:{default}:${part}`, 'SAMPLES', '0'),
  );
  const [jobs, ready] = (await Promise.all(used)).map(Number);
  expect((jobs! + ready!) / count).toBeLessThan(450);
});
