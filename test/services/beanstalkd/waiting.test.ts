/** A job that is waited for: how often a job was reserved is asked along with the wait, for the id that is likely to come. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BeanstalkdOptions, beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { message } from '../sqlite/messages.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

let server: BeanstalkdServer;
let asked = 0;
let prefixes = 0;
const questions = async () => (await server.count('cmd-stats-job')) - asked;
const isWaiting = async (where = server) => (await where.count('current-waiting')) === 1;
const open = (options: Partial<BeanstalkdOptions> = {}) =>
  beanstalkd({ url: server.url, prefix: `wait-${++prefixes}-`, store: memoryStore(), ...options });
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
  await until(() => isWaiting());
  await backend.enqueue([message({ id })]);
  const [lease] = await fetched;
  return lease!;
}

describe('a job that is waited for', () => {
  it('is asked about once, in advance from the second one on', async () => {
    const backend = open();
    for (let n = 1; n <= 3; n++) {
      const lease = await waitedFor(backend, `id-${n}`);
      expect(lease).toMatchObject({ attempt: 1, interrupted: false });
      expect(await questions()).toBe(n);
      expect(await backend.ack([{ lease }])).toEqual([true]);
    }
    await backend.close();
  });

  it('has its own attempts when another came in between', async () => {
    const backend = open();
    const line = await server.connection();
    const first = await waitedFor(backend, 'first');
    const fetched = backend.fetch(wait);
    await until(() => isWaiting());
    const { number } = await line.send('put 0 0 60 5', 'other');
    await line.send(`reserve-job ${number}`);
    await backend.enqueue([message({ id: 'second' })]);
    const [second] = await fetched;
    expect(second).toMatchObject({ attempt: 1, interrupted: false });
    expect(await questions()).toBe(3); // the first, the guess, and the second
    expect(await backend.ack([{ lease: first }, { lease: second! }])).toEqual([true, true]);
    await line.send(`delete ${number}`);
    line.destroy();
    await backend.close();
  });

  it('tells that a worker was killed with it, although it was asked about before it came', async () => {
    const [backend, line] = [open(), await server.connection()];
    const tube = `wait-${prefixes}-default`;
    const first = await waitedFor(backend, 'first');
    await backend.enqueue([message({ id: 'second' })]);
    await line.send(`watch ${tube}`);
    expect((await line.send('reserve-with-timeout 0')).word).toBe('RESERVED');
    const before = await questions();
    const fetched = backend.fetch(wait);
    await until(() => isWaiting());
    line.destroy();
    const [second] = await fetched;
    expect(second).toMatchObject({ attempt: 2, interrupted: true });
    expect((await questions()) - before).toBe(1);
    expect(await backend.ack([{ lease: first }, { lease: second! }])).toEqual([true, true]);
    await backend.close();
  });

  it('is held for its whole time, although what is left of it was told for the start of the wait', async () => {
    const own = await startBeanstalkd({ stopped: true });
    const clock = createVirtualClock();
    const backend = beanstalkd({ url: own.url, store: memoryStore(), ttrMs: 4_000, clock });
    await own.setTime(clock.now());
    for (const id of ['first', 'second']) {
      const fetched = backend.fetch(wait);
      await until(() => isWaiting(own));
      clock.advance(3_000);
      await own.setTime(clock.now());
      await backend.enqueue([message({ id })]);
      const [lease] = await fetched;
      // Without a touch nobody would know whether a second is left, or four.
      await until(async () => (await own.count('cmd-touch')) === (id === 'second' ? 1 : 0));
      clock.advance(1_500);
      await own.setTime(clock.now());
      expect(await backend.ack([{ lease: lease! }])).toEqual([true]);
    }
    await backend.close();
    await own.remove();
  });
});
