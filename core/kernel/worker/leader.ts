/**
 * Elects one of the workers that take from the same queues of a backend and know the same jobs. The leader holds a key and renews it; the others
 * try again when the key ends. Two may lead for a moment (one was frozen, or a clock was set), so a chore must be safe to do twice.
 */

import { steadyNow, within } from '../../base/clock.ts';
import { crypto } from '../../base/crypto.ts';
import type { WorkerState } from './state.ts';

/** A dead leader is replaced a second after this time at the latest. */
export const holdMs = 15_000;
const renewMs = 5_000;
const firstMs = 1_000;
const soonMs = 100;
/** Followers try again within this time after the hold, because a claim locks the key: all at once would hold up the leader's, too. */
const spreadMs = 1_000;
/** How long a stopping worker waits for the answer to its last claim. */
const answerMs = 1_000;

export function createLeader({ id, app, client, settings, failed }: WorkerState) {
  const { backend, queues } = settings;
  const { clock, random } = app;
  // If the queue has its own stores, the key is there, because two queues may share a separate store.
  const { keys } = backend.stores ?? client.stores;
  // The job names are part of the key: during a deployment, a worker with other jobs could not enqueue the callbacks of a batch.
  const key = `leader:${digest([backend.name, client.name ?? '', sorted(queues), sorted(app.jobs.keys())])}`;
  let leadsUntil = -Infinity;
  let claiming: Promise<unknown> | null = null;
  let isSilent = false;

  return {
    /** By the steady clock: a process that was frozen for longer than its hold no longer leads. */
    get leads(): boolean {
      return steadyNow(clock) < leadsUntil;
    },
    firstMs: () => firstMs * (0.5 + random() / 2),
    /** Takes the lead or renews it. Resolves with the ms until the next call. */
    async elect(): Promise<number> {
      const askedAt = steadyNow(clock);
      try {
        const claimed = keys.claim(key, id, clock.now() + holdMs);
        claiming = claimed;
        const claim = await claimed;
        claiming = null;
        isSilent = false;
        if (claim.state === 'claimed') {
          leadsUntil = askedAt + holdMs;
          return renewMs;
        }
        leadsUntil = -Infinity;
        const leftMs = claim.state === 'running' ? claim.until - clock.now() : holdMs;
        return Math.min(Math.max(leftMs, soonMs), holdMs) + spreadMs * random();
      } catch (error) {
        claiming = null;
        if (!isSilent) failed('electing a leader', error);
        isSilent = true;
        return renewMs;
      }
    },
    /** Gives up the lead, so that another worker can take it at its next try. `elect` must not be called afterwards. */
    async resign(): Promise<void> {
      // A claim that succeeds after this would hold the lead for a stopped worker.
      if (claiming) await within<unknown>(clock, answerMs, claiming, () => {}).catch(() => {});
      if (leadsUntil === -Infinity) return;
      leadsUntil = -Infinity;
      await keys.release(key, id);
    },
  };
}

const sorted = (names: Iterable<string>): string[] => [...names].sort();

const digest = (names: readonly (string | string[])[]): string =>
  crypto().createHash('sha256').update(JSON.stringify(names)).digest('base64url').slice(0, 22);
