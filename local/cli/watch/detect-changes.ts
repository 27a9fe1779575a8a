/**
 * Whether a file that a program imports has changed. Compares what is on the disk, several times a second: a file that is
 * replaced instead of written, a new one, and a folder of another machine are then seen like any other. `node --watch` follows
 * the old file when an editor saves by renaming.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { stampOf } from './stamp.ts';

const lookMs = 200;
/** Looking takes at most about this share of the time, however many files there are. */
const share = 0.1;

/** Resolves when something has changed and has then stayed as it is for one look, or when `signal` aborts. */
export async function changed(stamps: ReadonlyMap<string, string>, signal: AbortSignal): Promise<void> {
  let last: string | null = null;
  while (!signal.aborted) {
    const startedAt = performance.now();
    const now = [...stamps.keys()].map(stampOf);
    const isOther = [...stamps.values()].some((stamp, i) => stamp !== now[i]);
    const text = isOther ? now.join('\n') : null;
    if (text !== null && text === last) return;
    last = text;
    const tookMs = performance.now() - startedAt;
    await sleep(Math.max(lookMs, tookMs / share), undefined, { signal }).catch(() => {});
  }
}
