/** Queues for development. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isOnThisMachine } from '../../../core/base/loopback.ts';
import { createSqsQueues, sqs } from '../../../functions/aws/index.ts';
import { type Endpoint, openEndpoint } from './endpoint.ts';

let endpoint: Endpoint;
let made: Record<string, string>;
const prefix = `c${process.pid}-`;

beforeAll(async () => {
  endpoint = await openEndpoint();
});
afterAll(async () => {
  for (const url of Object.values(made)) {
    await endpoint.deleteQueue(url);
    await endpoint.deleteQueue(`${url}-dlq`);
  }
  await endpoint.stop();
});

const create = (more: { empty?: boolean } = {}) =>
  createSqsQueues({ endpoint: endpoint.url, queues: ['default', 'mail'], prefix, ...more });
const message = {
  id: 'a',
  queue: 'mail',
  job: 'x',
  body: '{}',
  priority: 5,
  notBefore: null,
  group: null,
  tenantId: null,
};

describe('createSqsQueues()', () => {
  it('makes queues with their dead letters, which sqs() takes as they are', async () => {
    made = await create();
    expect(Object.keys(made)).toEqual(['default', 'mail']);
    const backend = sqs({ endpoint: endpoint.url, queues: made, longPollMs: 1_000 });
    await backend.check();
    expect(await backend.enqueue([message])).toMatchObject([{ ok: true }]);
    await backend.close();
  });

  it('leaves what is there alone, unless it is asked to empty it', async () => {
    expect(await create()).toEqual(made);
    const backend = sqs({ endpoint: endpoint.url, queues: made, longPollMs: 1_000 });
    const ready = async () => (await backend.admin!.stats('mail'))[0]!.ready;
    expect(await ready()).toBe(1);
    await create({ empty: true });
    expect(await ready()).toBe(0);
    await backend.close();
  });

  it.each([
    'https://sqs.eu-central-1.amazonaws.com',
    'http://127.0.0.1.example',
    'http://localhost.example:4566',
    'nonsense',
    undefined,
  ])('refuses to make any at %s', async (url) => {
    const wanted = createSqsQueues({ endpoint: url as string, queues: ['mail'] });
    await expect(wanted).rejects.toMatchObject({ code: 'CONFIG' });
    await expect(wanted).rejects.toThrow(/expects an endpoint on this machine/);
  });

  it('refuses a name that no queue can have', async () => {
    await expect(createSqsQueues({ endpoint: endpoint.url, queues: ['a b'] })).rejects.toThrow(/a b/);
  });
});

describe('an endpoint on this machine', () => {
  it.each([
    ['http://localhost:4566', true],
    ['http://127.0.0.1:9324', true],
    ['http://[::1]:9324', true],
    ['http://sqs.eu-central-1.localhost.localstack.cloud:4566', true],
    ['https://sqs.eu-central-1.amazonaws.com', false],
    ['http://10.0.0.7:4566', false],
    ['http://localhost.example', false],
  ])('is known by its name: %s', (url, expected) => {
    expect(isOnThisMachine(url)).toBe(expected);
  });
});
