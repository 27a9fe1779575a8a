/** The paused jobs, as this process has last read them. */

import { within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import type { LimitStore } from '../../contract/derived/limits.ts';
import type { Client } from '../../kernel/enqueue/client.ts';

export interface PausedJobs {
  names: ReadonlySet<string>;
  /** Epoch ms; `-Infinity` = never. */
  readAt: number;
  reading: Promise<void> | null;
}

export const pausePrefix = 'pause:';

/** An older list is read again in the background; a stale one is awaited. */
const ages = { freshMs: 4_000, staleMs: 5_000 };
const patienceMs = 2_000;
/** More than people would pause by hand. */
const mostPaused = 1_000;

const known = new WeakMap<LimitStore, PausedJobs>();

/** `null` = jobs cannot be paused here. */
export function knownPaused({ stores: { limits } }: Pick<Client, 'stores'>): PausedJobs | null {
  if (!limits) return null;
  let found = known.get(limits);
  if (!found) {
    found = { names: new Set(), readAt: -Infinity, reading: null };
    known.set(limits, found);
  }
  return found;
}

export const isFresh = ({ readAt }: PausedJobs, now: number): boolean => now - readAt < ages.freshMs;

/** Refreshes the list; returns a promise only if the list is stale. Never rejects: if there is no answer, the old list stays. */
export function refreshed(client: Client, paused: PausedJobs, now: number): Promise<void> | null {
  if (isFresh(paused, now)) return null;
  paused.reading ??= read(client, paused);
  return now - paused.readAt < ages.staleMs ? null : paused.reading;
}

async function read({ app, backend, stores }: Client, paused: PausedJobs): Promise<void> {
  const late = (): never => {
    throw new LongshoreError('BACKEND', `The store of limits gave no answer for ${patienceMs} ms.`);
  };
  try {
    paused.names = new Set(await within(app.clock, patienceMs, namesIn(stores.limits!), late));
  } catch (cause) {
    const during = 'reading which jobs are paused';
    const error = backendError(during, cause);
    app.events.emit({ type: 'backend.failed', backend: backend.name, during, error });
  }
  paused.readAt = app.clock.now();
  paused.reading = null;
}

export async function namesIn(limits: LimitStore): Promise<string[]> {
  const held = limits.heldUntilReset
    ? await limits.heldUntilReset(pausePrefix)
    : (await limits.list({ prefix: pausePrefix, max: mostPaused }))
        .filter(({ heldUntil }) => heldUntil !== null)
        .map(({ key }) => key);
  return held.map((key) => key.slice(pausePrefix.length));
}
