/** One step of a random sequence: what is done to the backend and to the reference, and that both answer the same. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import type { JobLease, OutgoingMessage } from '../../../core/contract/queue.ts';
import { hour, type Kit, mail, reports, second } from './kit.ts';
import type { Reference } from './reference.ts';

export interface World {
  readonly t: Kit;
  readonly reference: Reference;
  /** The messages by id. */
  readonly messages: Map<string, OutgoingMessage>;
  /** Every lease ever given out, live and stale, with the reference's number for the claim. */
  readonly leases: { readonly lease: JobLease; readonly claim: number }[];
  /** Rounds a drawn time to what the queue can distinguish. */
  readonly whole: (ms: number) => number;
  /** The queue keeps records itself. */
  readonly hasRecords: boolean;
}

export interface Step {
  readonly run: (world: World) => Promise<void>;
  /** How a sequence that failed is printed. */
  readonly [fc.toStringMethod]: () => string;
}

type Fields<T> = { readonly [K in keyof T]: fc.Arbitrary<T[K]> };

function may<T>(
  weight: number,
  name: string,
  fields: Fields<T>,
  run: (world: World, drawn: T) => Promise<void>,
): fc.WeightedArbitrary<Step> {
  const arbitrary = fc.record(fields as Fields<Record<string, unknown>>).map((drawn) => ({
    run: (world: World) => run(world, drawn as T),
    [fc.toStringMethod]: () => `${name} ${JSON.stringify(drawn)}`,
  }));
  return { weight, arbitrary };
}

/** Counted from the newest, so that live and stale ones are both met often. */
function nth<T>(items: readonly T[], back: number): T | undefined {
  return items[items.length - 1 - (back % items.length)];
}

function several<T>(items: readonly T[], backs: readonly number[]): T[] {
  return backs.map((back) => nth(items, back)).filter((item) => item !== undefined);
}

const queue = fc.constantFrom(mail, reports);
const queues = fc.constantFrom([mail], [reports], [mail, reports]);
const priority = fc.constantFrom(0, 2, 5, 8);
// Few values, so that moments coincide: the bugs live where a lease ends just when something is due.
const delayMs = fc.constantFrom(0, 1, second, 10 * second, hour);
const leaseMs = fc.constantFrom(1, second, 10 * second, hour);
const ms = fc.constantFrom(1, second - 1, second, 10 * second, hour);
const back = fc.nat(9);
const backs = fc.array(back, { minLength: 1, maxLength: 3 });
const max = fc.integer({ min: 1, max: 4 });
const countAttempt = fc.boolean();
const reason = fc.constantFrom<AbandonReason>('permanent', 'exhausted', 'expired', 'cancelled');

async function enqueue({ t, reference, messages }: World, message: OutgoingMessage): Promise<void> {
  const { id, priority, notBefore } = message;
  const { duplicate } = reference.enqueue(id, message.queue, priority, notBefore ?? t.now());
  assert.deepEqual(await t.backend.enqueue([message]), [{ ok: true, id, duplicate }]);
  if (!duplicate) messages.set(id, message);
}

export const step: fc.Arbitrary<Step> = fc.oneof(
  may(6, 'enqueue', { queue, priority, delayMs }, async (world, { queue, priority, delayMs }) => {
    const { t, whole } = world;
    const notBefore = delayMs === 0 ? null : t.now() + whole(delayMs);
    await enqueue(world, t.message({ queue, priority, notBefore }));
  }),

  may(1, 'enqueue again', { back, queue }, async (world, { back, queue }) => {
    const id = nth([...world.messages.keys()], back);
    // How long an ended message is remembered is the backend's own affair.
    if (id !== undefined && !world.t.lacks('duplicates') && !world.reference.hasEnded(id)) {
      await enqueue(world, world.t.message({ id, queue }));
    }
  }),

  may(6, 'fetch', { queues, max, leaseMs }, async (world, { queues, max, leaseMs: drawn }) => {
    const { t, reference, messages } = world;
    const leaseMs = world.whole(drawn);
    const expected = reference.fetch(queues, max, leaseMs);
    const leases = await t.takeAll(max, { queues, leaseMs });
    assert.deepEqual(
      leases.map(({ token: _, ...rest }) => rest),
      expected.map(({ id, queue, attempt, interrupted, leaseUntil }) => {
        return { queue, body: messages.get(id)!.body, attempt, expiresAt: leaseUntil, interrupted };
      }),
    );
    for (const [i, lease] of leases.entries()) {
      assert.ok(!world.leases.some((known) => known.lease.token === lease.token), 'a fresh token');
      world.leases.push({ lease, claim: expected[i]!.claim });
    }
  }),

  may(3, 'ack', { backs }, async ({ t, reference, leases }, { backs }) => {
    const chosen = several(leases, backs);
    const answers = await t.backend.ack(chosen.map(({ lease }) => ({ lease })));
    assert.deepEqual(
      answers,
      chosen.map(({ claim }) => reference.ack(claim)),
    );
  }),

  may(3, 'nack', { back, delayMs, countAttempt }, async (world, { back, delayMs: drawn, countAttempt }) => {
    const { t, reference } = world;
    const delayMs = world.whole(drawn);
    const chosen = nth(world.leases, back);
    if (!chosen) return;
    const answer = await t.backend.nack(chosen.lease, { delayMs, countAttempt });
    assert.equal(answer, reference.nack(chosen.claim, delayMs, countAttempt));
  }),

  may(2, 'abandon', { back, reason }, async ({ t, reference, leases }, { back, reason }) => {
    const chosen = nth(leases, back);
    if (!chosen) return;
    const answer = await t.backend.abandon(chosen.lease, { reason, error: `HANDLER: ${reason}` });
    assert.equal(answer, reference.abandon(chosen.claim, reason));
  }),

  may(2, 'renew', { backs, leaseMs }, async ({ t, reference, leases, whole }, { backs, leaseMs: drawn }) => {
    const leaseMs = whole(drawn);
    const chosen = several(leases, backs);
    const answers = await t.backend.renew(
      chosen.map(({ lease }) => lease),
      leaseMs,
    );
    assert.deepEqual(
      answers,
      chosen.map(({ claim }) => reference.renew(claim, leaseMs)),
    );
  }),

  may(5, 'advance', { ms }, async ({ t, whole }, { ms }) => t.advance(whole(ms))),

  may(4, 'reap', { queue }, async ({ t, reference }, { queue }) => {
    assert.equal(await t.backend.reapExpired(queue), reference.reap(queue));
  }),

  may(1, 'cancel', { back }, async ({ t, reference, messages, hasRecords }, { back }) => {
    const id = nth([...messages.keys()], back);
    if (id !== undefined && hasRecords) assert.equal(await t.stores.records.cancel(id), reference.cancel(id));
  }),

  may(1, 'retry', { backs }, async ({ t, reference, messages }, { backs }) => {
    const ids = several([...messages.keys()], backs);
    assert.equal(await t.admin.deadLetters.retry(ids), sum(ids.map((id) => reference.retry(id))));
  }),

  may(1, 'discard', { backs }, async ({ t, reference, messages }, { backs }) => {
    const ids = several([...messages.keys()], backs);
    assert.equal(await t.admin.deadLetters.discard(ids), sum(ids.map((id) => reference.discard(id))));
  }),

  may(2, 'promote', { backs, queue }, async ({ t, reference, messages }, { backs, queue }) => {
    const jobs = several([...messages.keys()], backs).map((id) => ({ id, queue }));
    const promoted = await t.backend.pending?.change(jobs, { notBefore: null });
    if (promoted)
      assert.deepEqual(
        promoted,
        jobs.map(({ id }) => reference.promote(id, queue)),
      );
  }),

  may(1, 'delay', { back, queue, priority, ms }, async (world, { back, queue, priority, ms }) => {
    const { t, reference, messages, whole } = world;
    const message = messages.get(nth([...messages.keys()], back) ?? '');
    if (!message || !t.backend.pending) return;
    const { id } = message;
    const body = JSON.stringify({ ...JSON.parse(message.body), priority, payload: ms });
    const notBefore = t.now() + whole(ms);
    const [changed] = await t.backend.pending.change([{ queue, id }], { body, priority, notBefore });
    assert.equal(changed, reference.delay(id, queue, priority, notBefore));
    if (changed) messages.set(id, { ...message, body });
  }),

  may(1, 'remove', { back, queue }, async ({ t, reference, messages }, { back, queue }) => {
    const id = nth([...messages.keys()], back);
    if (id === undefined || !t.backend.pending) return;
    assert.equal(await t.backend.pending.remove({ queue, id }), reference.remove(id, queue));
  }),

  may(1, 'clear', { queue }, async ({ t, reference }, { queue }) => {
    assert.equal(await t.admin.clear(queue), reference.clear(queue));
  }),

  may(1, 'pause', { queue }, async ({ t, reference }, { queue }) => {
    await t.admin.setPaused(queue, true);
    reference.pause(queue);
  }),

  may(2, 'resume', { queue }, async ({ t, reference }, { queue }) => {
    await t.admin.setPaused(queue, false);
    reference.resume(queue);
  }),
);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
