/** What `longshore doctor` finds in a real beanstalkd. */

import { afterEach, describe, expect, it } from 'vitest';
import { type BeanstalkdOptions, beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { until } from '../../kit/until.ts';
import { lookedAt } from '../diagnoses.ts';
import { type BeanstalkdServerOptions, startBeanstalkd } from './server.ts';

const ending: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

async function bench(of: BeanstalkdServerOptions, options: Partial<BeanstalkdOptions> = {}) {
  const server = await startBeanstalkd(of);
  ending.push(() => server.remove());
  const backend = beanstalkd({ url: server.url, store: memoryStore(), ...options });
  ending.push(() => backend.close());
  return { server, looked: () => lookedAt(backend.admin!) };
}

describe('a beanstalkd server', () => {
  it('that keeps its jobs, with a store, is told nothing, and every check is made', async () => {
    const { looked } = await bench({ binlog: true });
    expect(await looked()).toEqual({ found: {}, notChecked: {} });
  });

  it('that keeps nothing is told so', async () => {
    const { looked } = await bench({});
    expect((await looked()).found).toMatchObject({ 'beanstalkd.binlog': [{ severity: 'error' }] });
  });

  it('that takes smaller or larger jobs than it is said to is told so', async () => {
    const small = await bench({ binlog: true, args: ['-z', '1000'] });
    expect((await small.looked()).found).toMatchObject({
      'beanstalkd.size': [
        { severity: 'error', text: expect.stringMatching(/1000 bytes, .* is 65535: the server refuses/) },
      ],
    });
    const large = await bench({ binlog: true, args: ['-z', '1000000'] });
    expect((await large.looked()).found).toMatchObject({ 'beanstalkd.size': [{ severity: 'note' }] });
  });

  it('that drains is told so', async () => {
    const { server, looked } = await bench({ binlog: true });
    server.signal('SIGUSR1');
    const found = await until(async () => {
      const all = (await looked()).found;
      return Object.keys(all).length > 0 && all;
    });
    expect(found).toMatchObject({ 'beanstalkd.draining': [{ severity: 'error' }] });
  });

  it('without a store is told so', async () => {
    const server = await startBeanstalkd({ binlog: true });
    ending.push(() => server.remove());
    const backend = beanstalkd(server.url);
    ending.push(() => backend.close());
    expect((await lookedAt(backend.admin!)).found).toMatchObject({
      'beanstalkd.store': [{ severity: 'warning' }],
    });
  });
});
