/** What a crash of the server itself costs, with the append-only file that is fsynced every second. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redis } from '../../../local/backends/redis/index.ts';
import { until } from '../../kit/until.ts';
import { message } from '../sqlite/messages.ts';
import { type RedisServer, startRedis } from './server.ts';

const kills = 2;
/** Each of ten new jobs, of which five are run. */
const rounds = { written: 150, perhapsLost: 20 } as const;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis({ appendOnly: true });
});
afterAll(() => server.remove());

/**
 * Resolves when the server has written all that it has confirmed. It holds a write back for a second or two while a slow disk is at
 * work, and what it has then not written a SIGKILL takes with it.
 */
async function allIsWritten(): Promise<void> {
  const info = async () => String(await server.command('INFO', 'persistence'));
  await until(async () => /aof_buffer_length:0\r\n/.test(await info()));
}

describe('a server that is killed with SIGKILL', () => {
  it('has every job that was confirmed, or acked, before it wrote its file', async () => {
    const backend = redis({ url: server.url, retention: { completedMs: 3_600_000 } });
    let number = 0;
    const confirmed: string[] = [];
    const acked: string[] = [];
    async function write(times: number): Promise<void> {
      for (let n = 0; n < times; n++) {
        const batch = Array.from({ length: 10 }, () =>
          message({ id: `job-${++number}`, hints: { isNew: true } }),
        );
        for (const { ok, id } of await backend.enqueue(batch)) if (ok) confirmed.push(id);
        const leases = await backend.fetch({ queues: ['default'], max: 5, leaseMs: 600_000, waitMs: 0 });
        const settled = await backend.ack(leases.map((lease) => ({ lease })));
        for (const [i, { token }] of leases.entries()) if (settled[i]) acked.push(token.slice(24));
      }
    }

    for (let kill = 0; kill < kills; kill++) {
      await write(rounds.written);
      await allIsWritten();
      const safe = { confirmed: [...confirmed], acked: [...acked] };
      await write(rounds.perhapsLost);
      await server.stop('SIGKILL');
      await server.start();

      const statusOf = async (id: string) => (await backend.stores!.records.get(id))?.status ?? 'lost';
      const statuses = await Promise.all(safe.confirmed.map(statusOf));
      expect(statuses.filter((status) => status === 'lost')).toEqual([]);
      const ends = await Promise.all(safe.acked.map(statusOf));
      expect(ends.filter((status) => status !== 'completed')).toEqual([]);
      expect(safe.confirmed.length).toBeGreaterThanOrEqual((kill + 1) * rounds.written * 10);
      expect(safe.acked.length).toBeGreaterThanOrEqual((kill + 1) * rounds.written * 4);
    }
    await backend.close();
  });
});
