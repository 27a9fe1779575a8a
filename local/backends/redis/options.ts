import { checkInteger } from '../../../core/base/checks.ts';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { config, shown } from '../../../core/base/errors.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { backendDefaults } from '../shared/defaults.ts';
import type { RedisConnectionOptions } from './connection.ts';

/** Limit of the ended jobs that a queue keeps within their retention. Above it the oldest are removed. */
export interface RedisBudget {
  readonly count: number;
  readonly bytes: number;
}

export interface RedisOptions {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
  readonly url: string;
  /** Options of `createClient` from `@redis/client`, without the URL, such as `{ socket: { ca } }`. */
  readonly connection?: RedisConnectionOptions;
  /** Prefix of all keys. @default 'longshore' */
  readonly prefix?: string;
  /** `false`: workers poll and use neither PUBLISH nor SUBSCRIBE, for a user without these rights. @default true */
  readonly listen?: boolean;
  /** How often an idle worker polls while it cannot listen, in ms. @default 100 */
  readonly pollMs?: number;
  /** @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  /** Limit of the completed jobs kept per queue. @default 100_000 jobs and 64 MiB */
  readonly completedBudget?: Partial<RedisBudget>;
  /** Limit of the dead letters kept per queue. @default 100_000 jobs and 256 MiB */
  readonly deadBudget?: Partial<RedisBudget>;
  /** Each priority level ranks a job this much later, in ms, so that jobs of low priority are not starved. @default 3_600_000 */
  readonly ageingMs?: number;
  /** Maximum size of a message body. @default 1_048_576 */
  readonly maxBodyBytes?: number;
  /** Reconnects when the server has not answered a command for this time, in ms. @default 10_000 */
  readonly silenceMs?: number;
  /** Only for tests. @default the server's clock */
  readonly clock?: Clock;
}

export type ResolvedOptions = ReturnType<typeof resolveOptions>;

const mebibyte = 1024 * 1024;

/** Fills in the defaults. Throws `CONFIG` for a wrong option. */
export function resolveOptions(urlOrOptions: string | RedisOptions) {
  const options = typeof urlOrOptions === 'string' ? { url: urlOrOptions } : urlOrOptions;
  const { url, connection = {}, prefix = 'longshore', listen = true, pollMs = 100 } = options;
  const { silenceMs = 10_000, clock = systemClock, ageingMs = backendDefaults.ageingMs } = options;
  const { maxBodyBytes = backendDefaults.maxBodyBytes } = options;
  const completedBudget = { count: 100_000, bytes: 64 * mebibyte, ...options.completedBudget };
  const deadBudget = { count: 100_000, bytes: 256 * mebibyte, ...options.deadBudget };
  if (typeof url !== 'string' || url === '') throw config(`redis() expects a URL, got ${shown(url)}.`);
  if (typeof prefix !== 'string' || !/^[\w.:-]{1,100}$/.test(prefix)) {
    throw config(`redis() expects prefix to be 1 to 100 of A-Z a-z 0-9 . _ : -, got ${shown(prefix)}.`);
  }
  checkInteger('pollMs of redis()', pollMs, 1);
  checkInteger('ageingMs of redis()', ageingMs, 0);
  checkInteger('silenceMs of redis()', silenceMs, 100);
  for (const [name, budget] of Object.entries({ completedBudget, deadBudget })) {
    checkInteger(`${name}.count of redis()`, budget.count, 1);
    checkInteger(`${name}.bytes of redis()`, budget.bytes, 1);
  }
  return {
    link: { ...connection, url, silenceMs },
    prefix,
    listen,
    pollMs,
    clock,
    /** Scripts use the server's clock, unless a test passes its own. */
    serverTime: options.clock === undefined,
    ageingMs,
    maxBodyBytes,
    retention: { ...backendDefaults.retention, ...options.retention },
    completedBudget,
    deadBudget,
  };
}
