/** Checks a server: it must be new enough and no part of a cluster, and should not evict keys when its memory is full. */

import type { Clock } from '../../../core/base/clock.ts';
import { config, LongshoreError } from '../../../core/base/errors.ts';
import type { RedisClient } from './connection.ts';

/** 6.2 is the first with ZMSCORE. Valkey says 7.2 or more here. */
const oldest = '6.2';

export const clusterRefusal =
  'This server is part of a Redis Cluster, where idempotency keys and queues are on several servers, so some jobs would wait for ever. ' +
  'Give redis() the URL of one server, with replicas if need be.';

/** Version of what is stored. A release that stores something else raises it. */
const storedVersion = 2;

/** @param warn called once for each thing that is wrong and still lets the queue work */
export function createServerCheck(prefix: string, clock: Clock, warn: (message: string) => void) {
  const warned = new Set<string>();
  return async (client: RedisClient): Promise<void> => {
    await checkVersion(client, prefix, clock);
    const sections = await Promise.all(
      ['server', 'memory'].map((section) => client.sendCommand(['INFO', section]).then(String, () => '')),
    );
    const info = sections.join('\n'); // a user without the right to INFO: the server is trusted
    const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
    const version = value('redis_version');
    if (version && version.localeCompare(oldest, 'en', { numeric: true }) < 0) {
      throw config(
        `redis() expects Redis 6.2 or newer, or Valkey, got Redis ${version}. Upgrade the server.`,
      );
    }
    if (value('redis_mode') === 'cluster') throw config(clusterRefusal);
    const policy = value('maxmemory_policy');
    if (policy && policy !== 'noeviction' && !warned.has(policy)) {
      warned.add(policy);
      warn(
        `Redis has maxmemory-policy ${policy}: when its memory is full it throws jobs away without a word. ` +
          'Set maxmemory-policy noeviction on the server that holds the queues.',
      );
    }
  };
}

async function checkVersion(client: RedisClient, prefix: string, clock: Clock): Promise<void> {
  const key = `${prefix}:version`;
  const read = () => client.sendCommand(['GET', key]).catch(() => null);
  // A full server or a replica refuses the write. It may be used for what it can do.
  const [, found] = await Promise.all([
    client.sendCommand(['SETNX', key, `${storedVersion}`]).catch(() => null),
    read(),
  ]);
  if (found === null || Number(found) === storedVersion) return;
  if (Number(found) < storedVersion) {
    const { migrate } = await import('./migrate.ts');
    return migrate(client, prefix, clock, async () => Number(await read()) === storedVersion);
  }
  throw new LongshoreError(
    'SCHEMA_VERSION',
    `Expected what Redis keeps under "${prefix}" at version ${storedVersion} or older, got ${found}. Upgrade this process.`,
  );
}
