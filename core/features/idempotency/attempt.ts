/**
 * The idempotency key around an attempt: claimed before the run, completed with the ack, released after any other end. A job that will continue
 * its work (it sleeps, waits, snoozes, or remembers steps) keeps its key meanwhile.
 */

import { toError } from '../../base/failure.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { isOneTooMany } from '../../kernel/attempt/admit.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Admitted, Attempt, End, Maybe, Step } from '../../kernel/attempt/attempt.ts';
import { leaseEnd } from '../../kernel/attempt/run.ts';
import { crashLoop, lostLease, release, releaseDelayMs } from '../../kernel/attempt/verdict.ts';
import { eachOf } from '../../kernel/enqueue/backends.ts';

/** A job that waits for its key retries after `usual`, later after as long as it has waited. */
const busyMs = { least: 1_000, usual: 5_000, most: 60_000 };

export const guarded = {
  for: ({ envelope }) => envelope?.idempotencyKey != null,

  async run(it, next) {
    const { keys } = it.ports.client.stores;
    const { run } = it;
    const key = guardKey(it.job.name, it.envelope);
    // Use the run's end, not the lease's: a job that waited in a worker's buffer was renewed there.
    const { expiresAt } = run;
    const asked = keys.claim(key, run.lease.token, leaseEnd(run, it.app.clock));
    const claim = await answered(it, 'The key store', asked).catch(toError);
    // The job must not run unguarded, and no attempt is spent.
    if (claim instanceof Error) return lostLease(it) ?? release(releaseDelayMs, claim);
    if (claim.state === 'completed')
      return { verb: 'ack', outcome: 'skipped-idempotent', output: claim.value };
    if (claim.state === 'running') {
      return release(busyDelay(it, claim.until - it.startedAt), null);
    }
    const holder = holderIn(claim.value);
    if (holder && holder.id !== it.envelope.identifier && (await goesOn(it, holder.id))) {
      const { wakesAt, keepUntil } = holder;
      const back = keys.release(key, run.lease.token, { value: claim.value!, keepUntil });
      await answered(it, 'The key store', back).catch(() => false); // then the hold expires, and the value stays
      // An asking job holds the key for a moment. The random delay lets the holder find it free.
      const afterIt = Math.max(0, wakesAt - it.startedAt) + busyMs.usual * (0.5 + it.app.random());
      return lostLease(it) ?? release(busyDelay(it, Math.round(afterIt)), null);
    }
    run.key = key;
    // The next renewal extends both. Until then the key is not held beyond this time, whatever happens to the lease.
    run.expiresAt = expiresAt;
    // Checked only now: if the last attempt completed its key but could not ack, the job is done and not in a crash loop.
    return isOneTooMany(it) ? crashLoop(it.envelope) : next();
  },

  settle(it, end, next) {
    if (it.run.key === null) return next(end);
    if (end.verdict.verb === 'ack') return complete(it, end, it.run.key, next);
    return keepsKey(it, end) ? keep(it, end, it.run.key, next) : releaseFirst(it, end, next);
  },
} satisfies Step;

/** Thousands of jobs may wait for one key, and each try costs a lease. */
function busyDelay({ startedAt, envelope }: Admitted, heldMs: number): number {
  const waitedMs = startedAt - (envelope.schedule ?? envelope.issuedAt);
  const longestMs = Math.min(busyMs.most, Math.max(busyMs.usual, waitedMs));
  return Math.min(longestMs, Math.max(busyMs.least, heldMs));
}

async function complete(
  it: Attempt,
  end: End,
  key: string,
  next: (end: End) => Maybe<boolean>,
): Promise<boolean> {
  const { stores, backend } = it.ports.client;
  const { tx, lease } = it.run;
  const { output: value, endedAt } = end.report;
  const done = { value, keepUntil: endedAt + it.job!.idempotencyKeepMs };
  // If queue and keys share a database, both are written in one transaction.
  if (stores.keys === backend.stores?.keys) {
    return next({ ...end, complete: { key, owner: lease.token, ...done } });
  }
  const completed = () => answered(it, 'The key store', stores.keys.complete(key, lease.token, done));
  // A transaction comes first: if it does not commit, its writes are lost, and the key must not be completed.
  if (tx) {
    const settled = await next(end);
    if (settled) await completed().catch(() => false);
    return settled;
  }
  // Otherwise the key comes first: a message that returns with a completed key is skipped, but an acked job with an open key is not protected.
  return (await completed()) && next(end);
}

/**
 * A failed attempt must never block its own retry, so its key is released before its message comes back. If this write fails, the hold ends with
 * the lease. After a lost lease nothing is settled and the hold expires by itself, because the handler may still be running.
 */
async function releaseFirst(it: Attempt, end: End, next: (end: End) => Maybe<boolean>): Promise<boolean> {
  const { key, lease } = it.run;
  const released = it.ports.client.stores.keys.release(key!, lease.token);
  await answered(it, 'The key store', released).catch(() => false);
  return next(end);
}

/** The job that keeps a key while it is not running, as stored in the key's value. */
interface Holder {
  readonly id: string;
  readonly wakesAt: number;
  /** The job loses the key if it does not run again by then. */
  readonly keepUntil: number;
}

function holderIn(value: string | null): Holder | null {
  return value === null ? null : ((JSON.parse(value) as { readonly holder?: Holder }).holder ?? null);
}

/** The job keeps its key if another job with the key would repeat its work. */
const keepsKey = ({ run }: Attempt, { verdict }: End): boolean =>
  verdict.verb === 'nack' && (run.steps !== null || !verdict.countAttempt);

/**
 * Releases the key with the name of its holder. The key cannot stay claimed, because the next attempt of this job has another token. If this
 * write fails, nothing is settled, and the job comes back when its lease ends.
 */
async function keep(
  it: Attempt,
  end: End,
  key: string,
  next: (end: End) => Maybe<boolean>,
): Promise<boolean> {
  const delayMs = end.verdict.verb === 'nack' ? end.verdict.delayMs : 0;
  const wakesAt = end.report.endedAt + delayMs;
  const holder: Holder = {
    id: it.envelope!.identifier,
    wakesAt,
    keepUntil: wakesAt + it.job!.idempotencyKeepMs,
  };
  const kept = { value: JSON.stringify({ holder }), keepUntil: holder.keepUntil };
  await answered(it, 'The key store', it.ports.client.stores.keys.release(key, it.run.lease.token, kept));
  return next(end);
}

/** Whether the job is unfinished. If its store does not answer, or may be out of date, the job counts as unfinished. */
async function goesOn(it: Admitted, id: string): Promise<boolean> {
  for (const { stores } of eachOf(it.ports.client)) {
    const { records } = stores;
    if (records.recordsDisabled) return true;
    const record = await answered(it, 'The record store', records.get(id)).catch(toError);
    if (record instanceof Error) return true;
    if (record) return record.finishedAt === null;
    if (records.writer) return true;
  }
  return false;
}

/** Keys are separate per tenant: otherwise two tenants with the same invoice number would share one effect and its output. */
export function guardKey(
  job: string,
  { idempotencyKey, context }: Pick<Envelope, 'idempotencyKey' | 'context'>,
): string {
  const tenantId = context?.tenantId;
  const key = `job:${job}:${idempotencyKey}`;
  return tenantId === undefined ? key : `tenant:${tenantId.length}:${tenantId}:${key}`;
}
