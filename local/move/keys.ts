/** The idempotency keys of moved jobs: what was done at the origin must not be done again at the goal. */

import type { KeyStore } from '../../core/contract/store.ts';
import type { Envelope } from '../../core/envelope/envelope.ts';
import { guardKey } from '../../core/features/idempotency/attempt.ts';
import { forEach } from '../../core/kit/parallel.ts';
import type { MovedJob } from './contract.ts';
import { readEnvelope } from './moved-job.ts';

const holdMs = 30_000;

/** As long as a job keeps its key done unless it says otherwise. */
const keepMs = 86_400_000;

/** Returns what marks at the goal which of some jobs' keys are done, and counts them. */
export function keyCarrier(from: KeyStore, to: KeyStore, owner: string) {
  async function carryOne(key: string, now: number): Promise<boolean> {
    const found = await from.claim(key, owner, now + holdMs);
    if (found.state === 'running') return false; // its job runs at the origin, and has its key there
    if (found.state === 'claimed') {
      const keep = found.value === null ? undefined : { value: found.value, keepUntil: now + keepMs };
      await from.release(key, owner, keep);
      return false;
    }
    const there = await to.claim(key, owner, now + holdMs);
    if (there.state !== 'claimed') return false;
    return to.complete(key, owner, { value: found.value, keepUntil: now + keepMs });
  }

  return async (jobs: readonly MovedJob[], now: number): Promise<number> => {
    const keys = new Set(jobs.flatMap(({ message }) => keyOf(message.body) ?? []));
    let count = 0;
    await forEach(keys, async (key) => {
      if (await carryOne(key, now)) count++;
    });
    return count;
  };
}

function keyOf(body: string): string | null {
  if (!body.includes('"idempotencyKey":"')) return null; // most have none, and need not be parsed
  const envelope = readEnvelope(body) as Envelope | null;
  if (typeof envelope?.idempotencyKey !== 'string' || typeof envelope.job !== 'string') return null;
  return guardKey(envelope.job, envelope);
}
