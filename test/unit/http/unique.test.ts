/** A unique job over HTTP: the answer names the job that stands. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { createHttpHandler } from '../../../core/surfaces/http/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { keys, sender } from './kit.ts';

const sync = defineJob({
  name: 'customer.sync',
  payload: z.object({ customer: z.string() }),
  unique: { key: ({ customer }) => customer, during: 'waiting' },
  async handle() {},
});

function open() {
  const app = createApp({ jobs: [sync], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  const client = connect(app, memory());
  const apiKeys = [
    { id: 'operator', key: keys.operator },
    { id: 'acme', key: keys.acme, tenantId: 'acme' },
  ];
  const send = sender(createHttpHandler(client, { apiKeys, rateLimit: false }));
  return { client, send };
}

describe('a unique job over HTTP', () => {
  it('is accepted twice and enqueued once', async () => {
    const { send, client } = open();
    const post = () => send('/jobs/customer.sync', { body: { customer: '7' } });
    const first = await post();
    expect(first.status).toBe(202);
    expect(first.body).not.toHaveProperty('duplicate');
    const second = await post();
    expect(second.status).toBe(202);
    expect(second.body).toEqual({ ...first.body, duplicate: true });
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect(await client.backend.admin!.stats()).toMatchObject([{ ready: 1 }]);
  });

  it('is found in a list, among others', async () => {
    const { send } = open();
    const item = (customer: string) => ({ job: 'customer.sync', payload: { customer } });
    const { status, body } = await send('/jobs', { body: [item('1'), item('2'), item('1')] });
    expect(status).toBe(202);
    const { results } = body as { results: { id: string; duplicate?: true }[] };
    expect(results.map(({ duplicate }) => duplicate)).toEqual([undefined, undefined, true]);
    expect(results[2]!.id).toBe(results[0]!.id);
  });

  it('stands for its own tenant alone', async () => {
    const { send } = open();
    const post = (key: string) => send('/jobs/customer.sync', { body: { customer: '7' }, key });
    const [one, other] = [await post(keys.operator), await post(keys.acme)];
    expect([one.body, other.body].map((body) => 'duplicate' in body)).toEqual([false, false]);
  });

  it('cannot be made so by the caller', async () => {
    const { send } = open();
    const options = { unique: { key: 'k', during: 'waiting' } };
    const body = [{ job: 'customer.sync', payload: { customer: '7' }, options }];
    expect(await send('/jobs', { body })).toMatchObject({ status: 400 });
  });
});
