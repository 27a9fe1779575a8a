/** Signing keys, and messages that they do not verify. */

import { hostname } from 'node:os';
import type { Check, Problem } from '../../../core/contract/diagnosis.ts';
import type { KeyRing } from '../../../core/envelope/signing.ts';
import { keepsSchedules } from '../../../core/kernel/enqueue/backends.ts';
import { CannotLook } from '../../../core/kit/diagnosis/checks-of.ts';
import { count, span, when } from '../output/ui.ts';
import type { DoctorFacts } from './facts.ts';

const dayMs = 86_400_000;
/** Unsigned messages that are refused so soon need somebody to look at their producers. */
const soonMs = 7 * dayMs;
/** Longer than a roll-out takes. */
const longMs = 30 * dayMs;
/** The signing key, and the one before or after it. */
const usualKeys = 2;
const looked = 500;
/** By name, the first ones. */
const mostSchedules = 1_000;

export const staticKeyChecks: readonly Check<DoctorFacts>[] = [
  {
    id: 'keys.missing',
    severity: 'error',
    look({ app }) {
      app.keyRing(); // throws with the remedy
      return [];
    },
  },
  {
    id: 'keys.development',
    severity: 'error',
    look({ app, io }) {
      const { kid } = usableRing(app);
      if (!isDevelopmentKey(kid) || io.env.NODE_ENV !== 'production') return [];
      return {
        where: 'LONGSHORE_SIGNING_KEYS',
        text: `NODE_ENV is production, and the signing key is "${kid}", a key that development makes and keeps in a file.`,
        remedy: 'Make one with longshore keys new, and rotate to it: docs/operations.md says how.',
      };
    },
  },
  {
    id: 'keys.unsigned',
    severity: 'warning',
    look({ app, io }) {
      const { acceptUnsignedUntil: until } = usableRing(app);
      if (until === null) return [];
      const leftMs = until - io.clock.now();
      const at = when(until);
      if (leftMs <= 0) {
        const text = `acceptUnsignedUntil ended at ${at}: it has no effect any more.`;
        const remedy = 'Leave it out of keyRing().';
        return { where: 'keyRing()', text, remedy, severity: 'note' };
      }
      const near = `From ${at} on, in ${span(leftMs)}, unsigned messages die as dead letters.`;
      const far = `Unsigned messages are taken until ${at}, for another ${span(leftMs)}: whoever can write to the queue can run jobs.`;
      if (leftMs <= soonMs)
        return { where: 'keyRing()', text: near, remedy: 'Let every producer sign before that.' };
      const remedy = 'Set acceptUnsignedUntil to the end of the roll-out, and leave it out afterwards.';
      return { where: 'keyRing()', text: far, remedy, severity: leftMs > longMs ? 'error' : 'warning' };
    },
  },
  {
    id: 'keys.rotation',
    severity: 'note',
    look({ app }) {
      const own = usableRing(app).kids.filter((kid) => !isDevelopmentKey(kid));
      if (own.length <= usualKeys) return [];
      return {
        where: 'the key ring',
        text: `${own.length} keys verify messages (${own.join(', ')}): rotations that were never ended.`,
        remedy: 'Remove keys whose messages are all done, dead letters included.',
      };
    },
  },
];

export const liveKeyChecks: readonly Check<DoctorFacts>[] = [
  {
    id: 'keys.shared',
    severity: 'error',
    async look({ app, beats }) {
      if (!isDevelopmentKey(usableRing(app).kid)) return [];
      const others = [...new Set((await beats()).map(({ host }) => host))].filter(
        (one) => one !== hostname(),
      );
      if (others.length === 0) return [];
      return {
        where: others.join(', '),
        text: 'Workers on other hosts serve these queues, and this host signs with its own development key: they refuse its jobs.',
        remedy: 'Give all of them the same LONGSHORE_SIGNING_KEYS.',
      };
    },
  },
  {
    id: 'keys.refused',
    severity: 'error',
    async look({ session, stats, now }) {
      const { admin, name } = await session.backend();
      const queues = await stats();
      if (!admin || !queues) return { because: `${name} does not list its dead letters` };
      const since = (await now()) - dayMs;
      const found: Problem[] = [];
      for (const { queue } of queues.filter(({ dead }) => dead > 0)) {
        const letters = await admin.deadLetters.list({ queue, max: looked });
        for (const [code, meaning] of Object.entries(refusals)) {
          const own = letters.filter(({ diedAt, error }) => diedAt >= since && error.startsWith(`${code}:`));
          if (own.length === 0) continue;
          found.push({
            where: `queue "${queue}"`,
            text: `${count(own.length, 'message')} of the last 24 h ${own.length === 1 ? 'was' : 'were'} refused with ${code}: ${meaning}`,
            remedy: `See longshore dead list --queue ${queue}. Give the producer the key, then longshore dead retry.`,
          });
        }
      }
      return found;
    },
  },
  {
    id: 'keys.schedules',
    severity: 'error',
    async look({ session }) {
      const client = await session.client();
      if (!keepsSchedules(client)) return [];
      const { schedules } = await client.schedules.list({ max: mostSchedules });
      return schedules.flatMap(({ name, failure }) =>
        failure && Object.hasOwn(refusals, failure.code)
          ? {
              where: `schedule "${name}"`,
              text: `It enqueues nothing: ${failure.code}: ${failure.message}`,
              remedy: `Upsert it again, add the key, or remove it: longshore schedule remove ${name}`,
            }
          : [],
      );
    },
  },
];

export const noKeyRing = { because: 'there is no key that can be used' };

/** `null`: there is none, as keys.missing says. */
export function keyRingOf({ keyRing }: DoctorFacts['app']): KeyRing | null {
  try {
    return keyRing();
  } catch {
    return null;
  }
}

function usableRing(app: DoctorFacts['app']): KeyRing {
  const ring = keyRingOf(app);
  if (!ring) throw new CannotLook(noKeyRing.because);
  return ring;
}

const refusals: Readonly<Record<string, string>> = {
  UNKNOWN_KEY: 'a producer signs with a key that is not on the ring.',
  SIGNATURE: 'a producer does not sign or has another key of that name, or somebody forges jobs.',
};

const isDevelopmentKey = (kid: string): boolean => kid === 'dev' || kid.startsWith('dev-');
