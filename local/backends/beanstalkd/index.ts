/**
 * A queue in beanstalkd 1.12 or newer: a small, quick server that keeps jobs and nothing else. What it cannot keep (records,
 * idempotency keys, the reasons of dead letters) goes to the store that it is given.
 */

import { randomUUID } from 'node:crypto';
import { checkInteger } from '../../../core/base/checks.ts';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { config, shown } from '../../../core/base/errors.ts';
import type { QueueAdmin } from '../../../core/contract/admin.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { KeyStore, Stores } from '../../../core/contract/store.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { backendDefaults } from '../shared/defaults.ts';
import { beanstalkdAdmin } from './admin.ts';
import { aloneStores, aloneWarning } from './alone.ts';
import { createClaiming } from './claiming.ts';
import { createLeases } from './leases.ts';
import { createLink, type Link, type Place } from './link.ts';
import { createNotes, type Notes } from './notes.ts';
import { createSeats } from './seats.ts';
import { createSending } from './sending.ts';
import { beanstalkdTransfer } from './transfer.ts';

export interface BeanstalkdOptions {
  /** `beanstalk://host:11300`. */
  readonly url: string;
  /** Records, idempotency keys and what beanstalkd cannot keep of a job. Ends with the backend. @default none: see the docs */
  readonly store?: Stores;
  /** All tubes begin with it. @default '': a tube is called like its queue */
  readonly prefix?: string;
  /**
   * How long a job stays with a worker that has fallen silent, whole seconds. One that lives says so in time, however long its
   * lease. @default 60_000
   */
  readonly ttrMs?: number;
  /** What the server was started with as `-z`. @default 65_535, as the server's */
  readonly maxBodyBytes?: number;
  /** How much later a job is ranked per priority level. @default 3_600_000 */
  readonly ageingMs?: number;
  /** A server that owes an answer for so long is given up, and connected to anew. @default 10_000 */
  readonly silenceMs?: number;
  /** Told what is missing. @default process.emitWarning */
  readonly warn?: (message: string) => void;
  /** For tests. */
  readonly clock?: Clock;
}

/** What the parts of the backend share. */
export interface BeanstalkdState {
  readonly place: Place;
  readonly link: Link;
  readonly clock: Clock;
  readonly keys: KeyStore;
  readonly notes: Notes;
  /** Whether notes outlive this process. */
  readonly keepsNotes: boolean;
  readonly ageingMs: number;
  /** What the keys of notes begin with. */
  readonly scope: string;
  isOpen(): boolean;
  /** Throws `CONFIG` for a name that no tube can have. */
  tubeOf(queue: string): string;
  queueOf(tube: string): string;
  /** The tubes of this prefix, and those that somebody has named. */
  tubes(): Promise<string[]>;
  /** A note could not be read or written: the job goes on without. */
  noteFailed(error: unknown): null;
}

const defaultPort = 11_300;
const noteMs = backendDefaults.retention.deadMs;
/** Names of queues, as `core/app/job.ts` has them, less what beanstalkd takes for an option. */
const tubePattern = /^[A-Za-z0-9._][A-Za-z0-9._-]{0,199}$/;
const defaultBodyBytes = 65_535;

export function beanstalkd(urlOrOptions: string | BeanstalkdOptions): QueueBackend {
  const options = typeof urlOrOptions === 'string' ? { url: urlOrOptions } : urlOrOptions;
  const { store, prefix = '', ttrMs = 60_000, silenceMs = 10_000 } = options;
  const {
    clock = systemClock,
    ageingMs = backendDefaults.ageingMs,
    maxBodyBytes = defaultBodyBytes,
  } = options;
  const { warn = (message: string) => process.emitWarning(message, { code: 'LONGSHORE_BEANSTALKD' }) } =
    options;
  if (typeof prefix !== 'string' || (prefix !== '' && !tubePattern.test(prefix)) || prefix.length > 70) {
    const text = `beanstalkd() expects prefix to be up to 70 of A-Z a-z 0-9 . _ -, got ${shown(prefix)}.`;
    throw config(text);
  }
  checkInteger('ttrMs of beanstalkd()', ttrMs, 1_000);
  checkInteger('ageingMs of beanstalkd()', ageingMs, 0);
  checkInteger('silenceMs of beanstalkd()', silenceMs, 100);
  checkInteger('maxBodyBytes of beanstalkd()', maxBodyBytes, 1);

  const place: Place = { ...placeOf(options.url), silenceMs };
  const stores = store ?? aloneStores(clock);
  const { keys } = stores;
  const scope = `beanstalkd:${place.host}:${place.port}`;
  const link = createLink(place);
  const known = new Set<string>();
  const listeners = new Set<(tokens: ReadonlySet<string>) => void>();
  let open = true;
  let isTold = store !== undefined;
  let noteFailedAt = Number.NEGATIVE_INFINITY;

  const state: BeanstalkdState = {
    place,
    link,
    clock,
    keys,
    notes: createNotes(keys, clock, randomUUID, noteMs),
    keepsNotes: store !== undefined,
    ageingMs,
    scope,
    isOpen: () => open,
    tubeOf(queue) {
      const tube = `${prefix}${queue}`;
      if (tubePattern.test(tube)) return tube;
      throw config(
        `Expected a queue whose name can be one of a tube (not begin with -), got ${shown(tube)}.`,
      );
    },
    queueOf: (tube) => tube.slice(prefix.length),
    async tubes() {
      const there = (await link.tubes()).filter((tube) => tube.startsWith(prefix) && tubePattern.test(tube));
      return [...new Set([...known, ...there])].filter((tube) => tube.length > prefix.length).sort();
    },
    noteFailed(error) {
      const now = performance.now();
      if (now - noteFailedAt > 60_000) {
        noteFailedAt = now;
        warn(`What beanstalkd cannot keep could not be noted, so attempts count that should not: ${error}`);
      }
      return null;
    },
  };
  const lose = (tokens: ReadonlySet<string>): void => {
    for (const listener of listeners) listener(tokens);
  };
  const leases = createLeases(state, lose);
  const seats = createSeats(state, (seat) => leases.lose(seat));
  const claiming = createClaiming(state, seats, leases);
  const admin = beanstalkdAdmin(state);
  const enqueue = createSending(state, { maxBodyBytes, ttrMs });
  const handover = beanstalkdTransfer(state, { enqueue, maxBodyBytes, ttrMs });
  let closing: Promise<void> | null = null;

  const movableAdmin: QueueAdmin & MovableAdmin = {
    ...admin,
    partialTransfer: handover,
    async know(queues) {
      for (const queue of queues) known.add(state.tubeOf(queue));
    },
  };

  return {
    name: 'beanstalkd',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    stores,
    ...(store?.migrate && { migrate: () => store.migrate!() }),
    admin: movableAdmin,
    enqueue,
    ack: leases.ack,
    nack: leases.nack,
    abandon: leases.abandon,
    renew: leases.renew,
    reapExpired: leases.reapExpired,
    hints: {
      onLost(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },

    async fetch({ queues, max, leaseMs, waitMs, signal }) {
      if (!isTold) warn(aloneWarning);
      isTold = true;
      const request = { queues: [...new Set(queues)], max, leaseMs };
      try {
        const leases = await claiming.claim(request);
        if (leases.length > 0 || waitMs <= 0 || signal?.aborted || !open) return leases;
        return await claiming.wait({ ...request, waitMs, signal });
      } catch (error) {
        if (open) throw error;
        return [];
      } finally {
        seats.tidy();
      }
    },

    close() {
      closing ??= end();
      return closing;
    },
  };

  async function end(): Promise<void> {
    open = false;
    claiming.close();
    leases.close();
    seats.close();
    link.close();
    await store?.close?.();
  }
}

function placeOf(url: unknown): Pick<Place, 'host' | 'port'> {
  const text = typeof url === 'string' ? url : '';
  const parsed = URL.canParse(text) ? new URL(text) : null;
  const { protocol, hostname, port } = parsed ?? {};
  if ((protocol !== 'beanstalk:' && protocol !== 'beanstalkd:') || !hostname) {
    throw config(`beanstalkd() expects a URL like beanstalk://127.0.0.1:11300, got ${shown(url)}.`);
  }
  // As in every URL an address of IPv6 stands in brackets.
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port ? Number(port) : defaultPort };
}
