/** A worker under load while its server goes away and comes back, in all the ways that servers do. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { startProxy, type Proxy as TcpProxy } from '../../kit/network/proxy.ts';
import { jobsOfLoad, keysOfLoad, type Load, startLoad } from '../postgres/load.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

/** Shorter than in life, so that a server which falls silent is given up while the test looks on. */
const silenceMs = 1_500;

/** Ten slots, and five times at most that a connection goes. */
const mostUnderWay = 50;

let server: BeanstalkdServer;
let proxy: TcpProxy;
beforeEach(async () => {
  server = await startBeanstalkd({ binlog: true });
  proxy = await startProxy(server.url);
});
afterEach(async () => {
  await proxy.close();
  await server.remove();
});

/** Each resolves when the server is there again. How long a worker waits before it looks is a matter of test/unit/worker. */
const disturbances: Record<string, (load: Load) => Promise<void>> = {
  async 'is killed and starts again from its binlog'() {
    await server.stop('SIGKILL');
    await server.start();
  },
  async 'is away for two seconds'() {
    await server.stop();
    await delay(2_000); // the outage itself
    await server.start();
  },
  async 'ends all connections, again and again'(load) {
    for (let i = 0; i < 5; i++) {
      await load.ended(60 * (i + 1));
      expect(proxy.cut('watch')).toBeGreaterThan(0);
    }
  },
  async 'falls silent and keeps its connections'() {
    server.signal('SIGSTOP');
    await delay(3 * silenceMs); // the trouble itself
    server.signal('SIGCONT');
  },
  async 'is cut off by a network that says nothing'() {
    expect(proxy.silence('watch')).toBeGreaterThan(0);
    await delay(silenceMs); // no longer: once it is given up, all the work is done within a second
    // A server forgets the time of jobs on a connection that says no more, now and then, until it sees its end: docs/backends.md.
    expect(proxy.endSilent()).toBeGreaterThan(0);
  },
};

describe('a worker under load whose server', () => {
  it.each(Object.entries(disturbances))('%s goes on and loses nothing', async (_name, disturb) => {
    const backend = beanstalkd({ url: proxy.url, store: memoryStore(), silenceMs, ttrMs: 2_000 });
    const load = await startLoad(backend);
    const producing = load.enqueue(100);
    await disturb(load);
    const failures = load.events.filter(({ type }) => type === 'backend.failed');
    await load.enqueue(1); // to be run afterwards, whatever has been run before
    await producing;
    const { ackedPerKey, doubled, interrupted: _, statuses, ...outcome } = await load.finish();

    // Of a job that was deleted while its connection went, nobody has heard in time: its record stays as it was.
    const { completed = 0, processing = 0, ...others } = statuses;
    expect([completed + processing, others]).toEqual([jobsOfLoad + 101, {}]);
    expect(processing).toBeLessThanOrEqual(mostUnderWay);
    expect(outcome).toEqual({
      deadLetters: 0,
      overlaps: 0,
      reason: 'stopped',
    });
    // Key and ack are two steps: of a job whose connection went between them the key is done, and both its messages are skipped.
    expect(Object.keys(ackedPerKey)).toEqual(['1']);
    expect(ackedPerKey[1]).toBeGreaterThanOrEqual(keysOfLoad - mostUnderWay);
    expect(doubled).toBeLessThanOrEqual(mostUnderWay);
    for (const failure of failures) expect(failure).toMatchObject({ error: { name: 'LongshoreError' } });
    await backend.close();
  });
});
