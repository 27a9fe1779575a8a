import { checkInteger } from '../../../core/base/checks.ts';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { config, shown } from '../../../core/base/errors.ts';
import type { BackendStores } from '../../../core/contract/store.ts';
import { backendDefaults } from '../shared/defaults.ts';
import type { ConnectionOptions } from './connection.ts';

export interface BeanstalkdOptions {
  /** `beanstalk://host:11300`. */
  readonly url: string;
  /** Keeps records, idempotency keys and metadata of jobs. Closed with the backend. @default none, with the limits that the docs list */
  readonly store?: BackendStores;
  /** Prefix of all tubes. @default '': a tube has the name of its queue */
  readonly prefix?: string;
  /**
   * How long the server leaves a job to a silent worker, in ms, rounded up to whole seconds. A live worker touches its jobs in time, so
   * leases may be longer. @default 60_000
   */
  readonly ttrMs?: number;
  /** The value of `-z` of the server. @default 65_535, the server's default */
  readonly maxBodyBytes?: number;
  /** Each priority level ranks a job this much later, in ms, so that jobs of low priority are not starved. @default 3_600_000 */
  readonly ageingMs?: number;
  /** Reconnects when the server has not answered a command for this time, in ms. @default 10_000 */
  readonly silenceMs?: number;
  /** Only for tests. */
  readonly clock?: Clock;
}

export type Settings = ReturnType<typeof settingsOf>;

const defaultPort = 11_300;
const defaultBodyBytes = 65_535;
const longestPrefix = 70;
/** Names of queues as in core/base/checks.ts, but without `-` at the start, which beanstalkd does not allow. */
export const tubePattern = /^[A-Za-z0-9._][A-Za-z0-9._-]{0,199}$/;

export function settingsOf(options: BeanstalkdOptions) {
  const { store, prefix = '', ttrMs = 60_000, silenceMs = 10_000, clock = systemClock } = options;
  const { ageingMs = backendDefaults.ageingMs, maxBodyBytes = defaultBodyBytes } = options;
  const isPrefix = typeof prefix === 'string' && (prefix === '' || tubePattern.test(prefix));
  if (!isPrefix || prefix.length > longestPrefix) {
    const text = `beanstalkd() expects prefix to be up to ${longestPrefix} of A-Z a-z 0-9 . _ -, got ${shown(prefix)}.`;
    throw config(text);
  }
  checkInteger('ttrMs of beanstalkd()', ttrMs, 1_000);
  checkInteger('ageingMs of beanstalkd()', ageingMs, 0);
  checkInteger('silenceMs of beanstalkd()', silenceMs, 100);
  checkInteger('maxBodyBytes of beanstalkd()', maxBodyBytes, 1);
  const server = { ...hostAndPort(options.url), silenceMs };
  return { server, store, prefix, ttrMs, maxBodyBytes, ageingMs, clock };
}

function hostAndPort(url: unknown): Pick<ConnectionOptions, 'host' | 'port'> {
  const text = typeof url === 'string' ? url : '';
  const parsed = URL.canParse(text) ? new URL(text) : null;
  const { protocol, hostname, port } = parsed ?? {};
  if ((protocol !== 'beanstalk:' && protocol !== 'beanstalkd:') || !hostname) {
    throw config(`beanstalkd() expects a URL like beanstalk://127.0.0.1:11300, got ${shown(url)}.`);
  }
  // A URL has an IPv6 address in brackets.
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port ? Number(port) : defaultPort };
}
