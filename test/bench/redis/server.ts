/** A server of the benchmark's own, with an append-only file that is fsynced every second. */

import { setTimeout as delay } from 'node:timers/promises';
import { startRedis } from '../../services/redis/server.ts';
import type { Usage } from '../kit/fleet.ts';
import type { BenchServer } from '../kit/network.ts';

export interface Server extends BenchServer {
  /** In bytes. */
  usedMemory(): Promise<number>;
  usage(): Promise<Usage>;
}

export async function startServer(): Promise<Server> {
  // Nothing is rewritten while somebody measures, but in between.
  const server = await startRedis({ appendOnly: true, settings: { 'auto-aof-rewrite-percentage': '0' } });
  const info = async (section: string, name: string): Promise<number> => {
    const text = String(await server.command('INFO', section));
    return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)![1]);
  };
  let places = 0;
  return {
    async at(use, history = false) {
      const place = { url: server.url, schema: `bench_${++places}`, history, serverPid: server.pid };
      try {
        return await use(place);
      } finally {
        await server.command('FLUSHALL', 'SYNC');
        await server.command('BGREWRITEAOF');
        do await delay(20);
        while ((await info('persistence', 'aof_rewrite_in_progress')) === 1);
      }
    },
    usedMemory: () => info('memory', 'used_memory'),
    usage: async () => ({
      statements: await info('stats', 'total_reads_processed'), // commands of scripts would count, too
      connections: await info('clients', 'connected_clients'),
      rows: null,
    }),
    stop: () => server.remove(),
  };
}
