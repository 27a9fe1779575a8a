/** Real queues that several hosts of a test share, each with a connection of its own. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../core/base/clock.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import { postgres } from '../../local/backends/postgres/index.ts';
import { redis } from '../../local/backends/redis/index.ts';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { freshDatabase } from './postgres/schemas.ts';
import { freshRedis } from './redis/database.ts';

export type Open = (clock: Clock) => QueueBackend;

/** @param after what a test file does at its end */
export const databasesWith = (
  after: (() => unknown)[],
): Readonly<Record<'sqlite' | 'postgres' | 'redis', () => Promise<Open>>> => ({
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), 'longshore-hosts-'));
    after.push(() => rmSync(folder, { recursive: true, force: true }));
    return (clock) => sqlite({ path: join(folder, 'jobs.db'), clock });
  },
  async postgres() {
    const database = await freshDatabase();
    after.push(() => database.drop());
    return (clock) => postgres({ url: database.url, clock });
  },
  async redis() {
    const url = await freshRedis();
    return (clock) => redis({ url, clock });
  },
});

/** Addresses of fresh ones, for processes that are killed. @param after what a test file does at its end */
export function addressesWith(after: (() => unknown)[]) {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-killed-'));
  after.push(() => rmSync(folder, { recursive: true, force: true }));
  let files = 0;
  const file = (ending: string): string => join(folder, `${++files}.${ending}`);
  return {
    file,
    async url(kind: string): Promise<string> {
      if (kind === 'sqlite') return file('db');
      if (kind === 'redis') return freshRedis();
      const database = await freshDatabase();
      after.push(() => database.drop());
      return database.url;
    },
  };
}
