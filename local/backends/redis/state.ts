/** Shared by the parts of the backend: one connection, the names of keys, and the known queues. */

import type { Clock } from '../../../core/base/clock.ts';
import { config, LongshoreError } from '../../../core/base/errors.ts';
import { slices } from '../../../core/base/slices.ts';
import { createWarnings } from '../../../core/kit/warnings.ts';
import { createWaiters } from '../shared/waiters.ts';
import { createLink, type RedisClient, scripts } from './connection.ts';
import type { ResolvedOptions } from './options.ts';

export type RedisState = ReturnType<typeof createState>;

const repeatWarningMs = 60_000;

/** Parses flags of a script, one character per argument. */
export const flagsOf = (flags: unknown): boolean[] => Array.from(flags as string, (flag) => flag === '1');

/** Asks queue by queue, in slices. The answers are in the order of the items. */
export async function perQueue<Item, Answer>(
  items: readonly Item[],
  queueOf: (item: Item) => string,
  mostPerCall: number,
  ask: (queue: string, some: readonly Item[]) => Promise<Iterable<Answer>>,
): Promise<Answer[]> {
  const answers: Answer[] = new Array(items.length);
  const byQueue = Map.groupBy(items.keys(), (i) => queueOf(items[i]!));
  const calls = [...byQueue].flatMap(([queue, all]) =>
    [...slices(all, mostPerCall)].map(async (indexes) => {
      let n = 0;
      for (const answer of await ask(
        queue,
        indexes.map((i) => items[i]!),
      ))
        answers[indexes[n++]!] = answer;
    }),
  );
  await Promise.all(calls);
  return answers;
}

export function createState(options: ResolvedOptions) {
  const { prefix, listen, pollMs, clock, serverTime, ageingMs, maxBodyBytes, retention } = options;
  const { completedBudget, deadBudget } = options;
  const { warn, onWarning } = createWarnings();
  let known = new Set<string>();
  let knownAt = Number.NEGATIVE_INFINITY;
  const link = createLink({
    ...options.link,
    greet: createServerCheck(prefix, clock, warn),
    lost() {
      known = new Set(); // the server may have lost them
      knownAt = Number.NEGATIVE_INFINITY;
    },
  });
  const list = `${prefix}:queues`;
  const keepsCompleted = retention.completedMs > 0;
  const budgets = [completedBudget.count, completedBudget.bytes, deadBudget.count, deadBudget.bytes];
  const budgetTexts = budgets.map(String);
  const warnedAt = new Map<string, number>();

  /** Each warning at most once a minute. */
  function warnRarely(message: string): void {
    const now = performance.now();
    if (now - (warnedAt.get(message) ?? Number.NEGATIVE_INFINITY) < repeatWarningMs) return;
    warnedAt.set(message, now);
    warn(message);
  }

  const state = {
    link,
    clock,
    prefix,
    pollMs,
    maxBodyBytes,
    retention,
    /** Whether completed jobs are kept at all. */
    keepsCompleted,
    ageingMs,
    /** Epoch ms in a test; '' = the script uses the server's time. */
    at: () => (serverTime ? '' : `${Math.floor(clock.now())}`),
    /** Prefix of the keys of a queue. */
    base: (queue: string) => `${prefix}:{${queue}}`,
    /** Channel of the queue's workers; '' = no messages are sent. */
    channel: (queue: string) => (listen ? `${prefix}:{${queue}}:ring` : ''),
    /** Where an idempotency key is stored. */
    key: (key: string) => `${prefix}:key:${key}`,
    /** The first arguments of the scripts `lease`, `manage` and `transfer`. */
    common: (keeps = keepsCompleted) => [state.at(), `${ageingMs}`, keeps ? '1' : '0', ...budgetTexts],
    manage: (during: string, queue: string, action: string, args: readonly string[]) =>
      link.run(during, scripts.manage, state.base(queue), [...state.common(), action, ...args]),
    /** All queues ever used. `recently`: the list may be up to a second old. */
    async queues(recently = false): Promise<string[]> {
      if (recently && performance.now() - knownAt < 1_000) return [...known];
      const names = (await link.send('listing queues', ['SMEMBERS', list])) as string[];
      known = new Set(names);
      knownAt = performance.now();
      return names.sort();
    },
    /** Adds the queue to the list of all queues; `null` = it is already listed. */
    register(queue: string): Promise<void> | null {
      if (known.has(queue)) return null;
      return link.send('enqueueing', ['SADD', list, queue]).then(() => void known.add(queue));
    },
    /** Fetches of this process. */
    waiters: createWaiters(clock),
    isOpen: true,
    onWarning,
    /** Warns that old dead letters were removed for a new one. */
    warnDropped: (queue: string) =>
      warnRarely(
        `Queue "${queue}" has more dead letters than its budget allows: the oldest are removed for new ones. ` +
          'Retry or discard dead letters, or raise deadBudget of redis().',
      ),
    /** Warns that lists leave out unreadable jobs. */
    warnUnreadable: (queue: string, ids: readonly string[]) =>
      warnRarely(
        `Jobs ${ids.map((id) => `"${id}"`).join(', ')} in queue "${queue}" cannot be read from Redis, so lists leave them out. ` +
          'Another program has written to their keys. Discard dead letters among them, or clear the queue.',
      ),
  };
  return state;
}

/** 6.2 is the first version with ZMSCORE. Valkey reports 7.2 or newer. */
const oldest = '6.2';

export const clusterRefusal =
  'This server is part of a Redis Cluster, where idempotency keys and queues are on several servers, so some jobs would wait for ever. ' +
  'Give redis() the URL of one server, with replicas if need be.';

/** Version of the stored format. A release that changes the format raises it. */
const storedVersion = 2;

/**
 * A server must be new enough and no part of a cluster, and should not evict keys when its memory is full.
 *
 * @param warn called once for each problem that does not stop the queue
 */
function createServerCheck(prefix: string, clock: Clock, warn: (message: string) => void) {
  const warned = new Set<string>();
  return async (client: RedisClient): Promise<void> => {
    await checkVersion(client, prefix, clock);
    const sections = await Promise.all(
      ['server', 'memory'].map((section) => client.sendCommand(['INFO', section]).then(String, () => '')),
    );
    const info = sections.join('\n'); // empty for a user without the right to INFO: no check then
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
        `Redis has maxmemory-policy ${policy}: when its memory is full, it silently deletes jobs. ` +
          'Set maxmemory-policy noeviction on the server that holds the queues.',
      );
    }
  };
}

async function checkVersion(client: RedisClient, prefix: string, clock: Clock): Promise<void> {
  const key = `${prefix}:version`;
  const read = () => client.sendCommand(['GET', key]).catch(() => null);
  // A full server or a replica refuses the write, and may still be used.
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
    `The data under "${prefix}" in Redis has version ${found}, but this process reads only ${storedVersion} or older. Upgrade this process.`,
  );
}

/** The ids that another queue knows. `recently`: the list of queues may be up to a second old. */
export async function knownElsewhere(
  state: RedisState,
  queue: string,
  ids: readonly string[],
  recently = false,
): Promise<Set<string>> {
  const others = (await state.queues(recently)).filter((other) => other !== queue);
  const flags = (await Promise.all(
    others.map((other) => state.manage('looking for copies', other, 'known', ids)),
  )) as string[];
  return new Set(ids.filter((_, i) => flags.some((flag) => flag[i] === '1')));
}
