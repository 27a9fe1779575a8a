/** A worker that waits for a job: what it asks of the server, and what it learns of the job. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { until } from '../../kit/until.ts';
import { message } from '../sqlite/messages.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

let server: BeanstalkdServer;
let asked = 0;
let prefixes = 0;
const questions = async () => (await server.count('cmd-stats-job')) - asked;
const isWaiting = async () => (await server.count('current-waiting')) === 1;
const open = () => beanstalkd({ url: server.url, prefix: `wait-${++prefixes}-`, store: memoryStore() });
const wait = { queues: ['default'], max: 10, leaseMs: 60_000, waitMs: 10_000 };

beforeAll(async () => {
  server = await startBeanstalkd();
});
beforeEach(async () => {
  asked = await server.count('cmd-stats-job');
});
afterAll(() => server.remove());

/** Enqueues one when the worker waits, and gives what it got. */
async function waitedFor(backend: ReturnType<typeof beanstalkd>, id: string) {
  const fetched = backend.fetch(wait);
  await until(isWaiting);
  await backend.enqueue([message({ id })]);
  const [lease] = await fetched;
  return lease!;
}

describe('a job that is waited for', () => {
  it('is asked about once', async () => {
    const backend = open();
    for (let n = 1; n <= 3; n++) {
      const lease = await waitedFor(backend, `id-${n}`);
      expect(lease).toMatchObject({ attempt: 1, interrupted: false });
      expect(await questions()).toBe(n);
      expect(await backend.ack([{ lease }])).toEqual([true]);
    }
    await backend.close();
  });

  it('says so when the worker that had it was killed', async () => {
    const [backend, line] = [open(), await server.connection()];
    const tube = `wait-${prefixes}-default`;
    const first = await waitedFor(backend, 'first');
    await backend.enqueue([message({ id: 'second' })]);
    await line.send(`watch ${tube}`);
    expect((await line.send('reserve-with-timeout 0')).word).toBe('RESERVED');
    const before = await questions();
    const fetched = backend.fetch(wait);
    await until(isWaiting);
    line.destroy();
    const [second] = await fetched;
    expect(second).toMatchObject({ attempt: 2, interrupted: true });
    expect((await questions()) - before).toBe(1);
    expect(await backend.ack([{ lease: first }, { lease: second! }])).toEqual([true, true]);
    await backend.close();
  });
});

describe('a wait that is ended while its server is silent', () => {
  it('ends all the same', { timeout: 20_000 }, async () => {
    const own = await startBeanstalkd();
    const backend = beanstalkd({ url: own.url, store: memoryStore(), silenceMs: 600_000 });
    const ending = new AbortController();
    const fetched = backend.fetch({ ...wait, waitMs: 60_000, signal: ending.signal });
    await until(async () => (await own.count('current-waiting')) === 1);
    own.signal('SIGSTOP');
    ending.abort();
    expect(await fetched).toEqual([]);
    await backend.close();
    await own.remove();
  });
});
