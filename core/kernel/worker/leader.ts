/**
 * Elects one of the workers that take from the same queues of a backend. The leader holds a key and renews it; the others look when it
 * ends. Two may lead for a moment (one was frozen, or a clock was set), so a chore must be one that may be done twice.
 */

import { steadyNow } from '../../base/clock.ts';
import { crypto } from '../../base/crypto.ts';
import type { WorkerState } from './state.ts';

/** A leader that dies is replaced within this. */
export const holdMs = 15_000;
const renewMs = 5_000;
const firstMs = 1_000;
const soonMs = 100;

export function createLeader({ id, app, client, settings, failed }: WorkerState) {
  const { backend, queues } = settings;
  const { clock, random } = app;
  // A queue that keeps state of its own has its leader there, whatever store is given: two queues may share one.
  const { keys } = backend.stores ?? client.stores;
  const key = `leader:${digest([backend.name, client.name ?? '', ...[...queues].sort()])}`;
  let leadsUntil = -Infinity;
  let isSilent = false;

  return {
    /** By a clock that nobody sets: a process that was frozen for longer than its hold leads no more. */
    get leads(): boolean {
      return steadyNow(clock) < leadsUntil;
    },
    firstMs: () => firstMs * (0.5 + random() / 2),
    /** Takes the lead, or renews it. Answers when to call it again, in ms. */
    async elect(): Promise<number> {
      const askedAt = steadyNow(clock);
      try {
        const claim = await keys.claim(key, id, clock.now() + holdMs);
        isSilent = false;
        if (claim.state === 'claimed') {
          leadsUntil = askedAt + holdMs;
          return renewMs;
        }
        leadsUntil = -Infinity;
        const leftMs = claim.state === 'running' ? claim.until - clock.now() : holdMs;
        return Math.min(Math.max(leftMs, soonMs), holdMs);
      } catch (error) {
        if (!isSilent) failed('electing a leader', error);
        isSilent = true;
        return renewMs;
      }
    },
    /** Lets another worker lead at its next look. */
    async resign(): Promise<void> {
      if (leadsUntil === -Infinity) return;
      leadsUntil = -Infinity;
      await keys.release(key, id);
    },
  };
}

const digest = (names: readonly string[]): string =>
  crypto().createHash('sha256').update(JSON.stringify(names)).digest('base64url').slice(0, 22);
