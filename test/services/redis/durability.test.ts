/** What a crash of the server itself costs, with the append-only file that is fsynced every second. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../../core/contract/store.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { message } from '../sqlite/messages.ts';
import { type RedisServer, startRedis } from './server.ts';

/** Redis documents one second, and postpones a write for up to another one while a slow disk is at work. */
const documentedMs = 2_000;
const kills = 2;
/** Longer, so that there is something that may not be lost. */
const writingMs = documentedMs + 1_500;
const pauseMs = 3;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis({ appendOnly: true });
});
afterAll(() => server.remove());

describe('a server that is killed with SIGKILL', () => {
  it('has every job that was confirmed, or acked, longer ago than Redis promises to lose', {
    timeout: 60_000,
  }, async () => {
    const backend = redis({ url: server.url, retention: { completedMs: 3_600_000 } });
    let number = 0;
    const totals = { confirmed: 0, lost: 0, acked: 0, back: 0, safe: 0 };
    for (let kill = 0; kill < kills; kill++) {
      const confirmedAt = new Map<string, number>();
      const ackedAt = new Map<string, number>();
      const until = Date.now() + writingMs;
      while (Date.now() < until) {
        const batch = Array.from({ length: 10 }, () =>
          message({ id: `job-${++number}`, hints: { isNew: true } }),
        );
        for (const { ok, id } of await backend.enqueue(batch)) if (ok) confirmedAt.set(id, Date.now());
        const request = { queues: ['default'], max: 5, leaseMs: 60_000, waitMs: 0 };
        const leases = await backend.fetch(request);
        const settled = await backend.ack(leases.map((lease) => ({ lease })));
        for (const [i, { token }] of leases.entries())
          if (settled[i]) ackedAt.set(token.slice(24), Date.now());
        await delay(pauseMs);
      }
      const killedAt = Date.now();
      await server.stop('SIGKILL');
      await server.start();

      const { records } = backend.stores!;
      const old = (at: number): boolean => at < killedAt - documentedMs;
      const check = (jobs: Map<string, number>, isLost: (record: JobRecord | null) => boolean) =>
        Promise.all(
          [...jobs].map(async ([id, at]) => {
            if (old(at)) totals.safe++;
            if (!isLost(await records.get(id))) return 0;
            expect(old(at), `${id} was confirmed ${killedAt - at} ms before the kill`).toBe(false);
            return 1 as number;
          }),
        );
      totals.confirmed += confirmedAt.size;
      totals.acked += ackedAt.size;
      for (const lost of await check(confirmedAt, (record) => record === null)) totals.lost += lost;
      // One whose enqueueing was lost with the rest is counted above.
      const isBack = (record: JobRecord | null) => record !== null && record.status !== 'completed';
      for (const back of await check(ackedAt, isBack)) totals.back += back;
    }
    expect(totals.confirmed).toBeGreaterThan(1_000);
    expect(totals.acked).toBeGreaterThan(500);
    expect(totals.safe).toBeGreaterThan(500);
    const { confirmed, lost, acked, back } = totals;
    process.stderr.write(
      `${kills} × kill -9: ${lost} of ${confirmed} confirmed jobs lost, ${back} of ${acked} acked jobs back in the queue\n`,
    );
    await backend.close();
  });
});
