/** What the tests of one file share: a server, and unused queues on it. */

import { afterAll, afterEach, beforeAll } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { type RedisOptions, redis } from '../../../local/backends/redis/index.ts';
import { message } from '../sqlite/messages.ts';
import { type RedisServer, startRedis } from './server.ts';

export let server: RedisServer;
let prefixes = 0;
const opened: QueueBackend[] = [];
beforeAll(async () => {
  server = await startRedis();
});
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});
afterAll(() => server.remove());

/** Closed when the test ends, if not before. */
export function open(options: Partial<RedisOptions> = {}): { backend: QueueBackend; prefix: string } {
  const prefix = options.prefix ?? `test-${++prefixes}`;
  const backend = redis({ url: server.url, prefix, ...options });
  opened.push(backend);
  return { backend, prefix };
}

export const take = { queues: ['default'], max: 1_000, leaseMs: 60_000, waitMs: 0 };

export const many = (count: number, parts: object = {}) =>
  Array.from({ length: count }, (_, i) => message({ id: `id-${i}`, ...parts }));

/** How often the server has run a command. */
export async function callsOf(command: string): Promise<number> {
  const text = String(await server.command('INFO', 'commandstats'));
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
}
