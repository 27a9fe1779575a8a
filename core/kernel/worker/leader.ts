/**
 * Elects one of the workers that take from the same queues of a backend and know the same jobs. The leader holds a key and renews it; the others
 * look when it ends. Two may lead for a moment (one was frozen, or a clock was set), so a chore must be one that may be done twice.
 */

import { steadyNow, within } from '../../base/clock.ts';
import { crypto } from '../../base/crypto.ts';
import type { WorkerState } from './state.ts';

/** A leader that dies is replaced within this. */
export const holdMs = 15_000;
const renewMs = 5_000;
const firstMs = 1_000;
const soonMs = 100;
/** How long a worker that stops waits for the answer to its last claim. */
const answerMs = 1_000;

export function createLeader({ id, app, client, settings, failed }: WorkerState) {
  const { backend, queues } = settings;
  const { clock, random } = app;
  // A queue that keeps state of its own has its leader there, whatever store is given: two queues may share one.
  const { keys } = backend.stores ?? client.stores;
  // One with other jobs, as while a release is rolled out, could not enqueue what a batch calls at its end.
  const key = `leader:${digest([backend.name, client.name ?? '', sorted(queues), sorted(app.jobs.keys())])}`;
  let leadsUntil = -Infinity;
  let claiming: Promise<unknown> | null = null;
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
        return Math.min(Math.max(leftMs, soonMs), holdMs);
      } catch (error) {
        claiming = null;
        if (!isSilent) failed('electing a leader', error);
        isSilent = true;
        return renewMs;
      }
    },
    /** Lets another worker lead at its next look. Afterwards `elect` is not called again. */
    async resign(): Promise<void> {
      // It would hold the lead for a worker that is gone.
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
