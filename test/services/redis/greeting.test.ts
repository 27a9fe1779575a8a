/** A connection that breaks while it is new: between the handshake of the driver and the first answer to us. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { type Fate, type Fault, type Network, startNetwork } from '../../kit/network/faults.ts';
import { freshRedis } from './database.ts';
import { startRedis } from './server.ts';

let network: Network;
let fate: Fate | null = null;

beforeAll(async () => {
  network = await startNetwork(await freshRedis(), () => fate);
});
afterAll(() => network.close());

const open = (silenceMs: number) => redis({ url: network.url, listen: false, silenceMs });
const ask = (backend: QueueBackend) => backend.admin!.stats('default');

/**
 * Lets the connection of a new backend meet its fate after some bytes, and after more and more of them, until its first call is
 * answered. The second call comes when nothing more happens. Answers how many greetings were broken.
 */
async function breakGreetings(fault: Fault, step: number, silenceMs: number): Promise<number> {
  for (let broken = 0; ; broken++) {
    const afterBytes = broken * step;
    const backend = open(silenceMs);
    const results: string[] = [];
    for (const next of [{ fault, afterBytes }, null]) {
      fate = next;
      results.push(
        await ask(backend).then(
          () => 'answered',
          ({ code }) => code,
        ),
      );
    }
    await backend.close();
    if (results[0] === 'answered') return broken;
    expect(results, `after ${afterBytes} bytes`).toEqual(['BACKEND', 'answered']);
  }
}

describe('a connection that breaks while it is greeted', () => {
  it.each(['reset', 'end'] as const)('by %s, after any byte, is replaced at the next call', async (fault) => {
    expect(await breakGreetings(fault, 7, 10_000)).toBeGreaterThan(100);
  });

  it.each(['drop', 'half-open'] as const)('by %s is given up in time, and replaced', async (fault) => {
    expect(await breakGreetings(fault, 200, 400)).toBeGreaterThan(5);
  });
});

it('a server that is part of a cluster is refused', async () => {
  const server = await startRedis({ settings: { 'cluster-enabled': 'yes' } });
  const backend = redis(server.url);
  const refusal = { code: 'CONFIG', message: expect.stringContaining('part of a Redis Cluster') };
  await expect(ask(backend)).rejects.toMatchObject(refusal);
  const fetching = backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 60_000 });
  await expect(fetching).rejects.toMatchObject(refusal);
  expect(await server.command('DBSIZE')).toBe(0);
  await backend.close();
  await server.remove();
});

describe('a backend that is closed while its server is silent', () => {
  it('waits no longer for answers that are owed for a second', async () => {
    const server = await startRedis();
    const backend = redis({ url: server.url, silenceMs: 600_000 });
    const fetching = backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 60_000 });
    await ask(backend);
    server.signal('SIGSTOP');
    const asked = ask(backend).catch((error: unknown) => error);
    await delay(1_500); // the silence itself
    const closed = backend.close().then(() => 'closed');
    // Far less than silenceMs, and enough for a busy machine.
    expect(await Promise.race([closed, delay(30_000, 'waits', { ref: false })])).toBe('closed');
    expect(await asked).toMatchObject({ code: 'BACKEND' });
    expect(await fetching).toEqual([]);
    await server.remove();
  });

  it('neither waits for a greeting nor lets its callers wait for one', { timeout: 20_000 }, async () => {
    fate = { fault: 'drop', afterBytes: 0 };
    const backend = open(600_000);
    const asked = ask(backend).catch((error: unknown) => error);
    const before = network.faults;
    await expect.poll(() => network.faults).toBeGreaterThan(before);
    await backend.close();
    expect(await asked).toMatchObject({ code: 'BACKEND' });
  });
});
