/** What the parts of the backend share: one connection, the names of keys, and the queues that are known. */

import { createWarnings } from '../../../core/kit/warnings.ts';
import { createWaiters } from '../shared/waiters.ts';
import { createLink } from './connection.ts';
import type { ResolvedOptions } from './options.ts';
import { scripts } from './scripts.ts';
import { createServerCheck } from './server.ts';

export type RedisState = ReturnType<typeof createState>;

const repeatWarningMs = 60_000;

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
    /** Epoch ms in a test; '' = the script takes the server's time. */
    at: () => (serverTime ? '' : `${Math.floor(clock.now())}`),
    /** What the keys of a queue begin with. */
    base: (queue: string) => `${prefix}:{${queue}}`,
    /** Where the queue's workers listen; '' = nobody is notified. */
    channel: (queue: string) => (listen ? `${prefix}:{${queue}}:ring` : ''),
    /** Where an idempotency key is stored. */
    key: (key: string) => `${prefix}:key:${key}`,
    /** The arguments that the scripts `lease`, `manage` and `transfer` begin with. */
    common: (keeps = keepsCompleted) => [state.at(), `${ageingMs}`, keeps ? '1' : '0', ...budgetTexts],
    manage: (during: string, queue: string, action: string, args: readonly string[]) =>
      link.run(during, scripts.manage, state.base(queue), [...state.common(), action, ...args]),
    /** All queues ever used. `recently`: a list that is up to a second old will do. */
    async queues(recently = false): Promise<string[]> {
      if (recently && performance.now() - knownAt < 1_000) return [...known];
      const names = (await link.send('listing queues', ['SMEMBERS', list])) as string[];
      known = new Set(names);
      knownAt = performance.now();
      return names.sort();
    },
    /** Adds the queue to the list of all; `null` = it is known to be there. */
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
    /** Warns that lists leave out what cannot be read. */
    warnUnreadable: (queue: string, ids: readonly string[]) =>
      warnRarely(
        `What Redis keeps of ${ids.map((id) => `"${id}"`).join(', ')} in queue "${queue}" cannot be read, so lists leave it out. ` +
          'Something else has written to its keys. Discard it if it is a dead letter, or clear the queue.',
      ),
  };
  return state;
}
