/** Random sequences of all that can happen to groups. The rules are those of a bystander: he sees leases, and knows what has ended. */

import assert from 'node:assert/strict';
import type { GroupOrder, JobLease } from '../../../core/contract/queue.ts';
import { hour, type Kit, mail, minute, second } from './kit.ts';

interface Known {
  readonly id: string;
  readonly group: string | null;
  readonly order: GroupOrder | undefined;
  /** The number of its arrival; a retried dead letter arrives again. */
  number: number;
  isDead: boolean;
  lease: JobLease | null;
  leaseUntil: number;
}

const kinds: readonly Pick<Known, 'group' | 'order'>[] = [
  { group: 'w', order: 'wait' },
  { group: 'x', order: 'wait' },
  { group: 's', order: 'step-aside' },
  { group: 'f', order: undefined },
  { group: null, order: undefined },
];

/** Whole numbers below `end`, the same ones for the same seed. */
export function drawing(seed: number): (end: number) => number {
  let state = seed * 2_654_435_761;
  return (end) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    const mixed = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % end;
  };
}

export async function playGroups(t: Kit, seed: number): Promise<void> {
  const draw = drawing(seed);
  const pick = <T>(items: readonly T[]): T | undefined => items[draw(items.length)];
  const alive = new Map<string, Known>();
  const byBody = new Map<string, Known>();
  const stale: JobLease[] = [];
  let arrivals = 0;
  const all = () => [...alive.values()];
  const opening = () => pick(t.openings)!;
  const leased = () => all().filter(({ lease }) => lease !== null);
  const isOwned = (one: Known) => one.leaseUntil > t.now();

  async function enqueue(): Promise<void> {
    const some = Array.from({ length: 1 + draw(4) }, () => {
      const { group, order } = pick(kinds)!;
      const isDelayed = order !== 'wait' && draw(4) === 0;
      const notBefore = isDelayed ? t.now() + draw(20) * second : null;
      const message = t.message({ group, ...(order && { order }), notBefore, priority: pick([0, 5, 8])! });
      const known = {
        id: message.id,
        group,
        order,
        number: ++arrivals,
        isDead: false,
        lease: null,
        leaseUntil: 0,
      };
      alive.set(message.id, known);
      byBody.set(message.body, known);
      return message;
    });
    assert.ok((await opening().enqueue(some)).every(({ ok }) => ok));
  }

  async function fetch(max: number, leaseMs: number): Promise<void> {
    const leases = await opening().fetch({ queues: [mail], max, leaseMs, waitMs: 0 });
    for (const lease of leases) {
      const one = byBody.get(lease.body)!;
      const what = `message ${one.number} of group ${one.group} (seed ${seed})`;
      assert.ok(
        alive.has(one.id) && !one.isDead && one.lease === null,
        `${what} was given out while it should not be`,
      );
      const others = all().filter(({ id, group, isDead }) => group === one.group && id !== one.id && !isDead);
      if (one.order) assert.ok(!others.some((other) => other.lease), `${what} runs beside another`);
      if (one.order === 'wait')
        assert.ok(!others.some(({ number }) => number < one.number), `${what} overtook another`);
      Object.assign(one, { lease, leaseUntil: t.now() + leaseMs });
    }
  }

  async function settle(one: Known): Promise<void> {
    const lease = one.lease!;
    const owned = isOwned(one);
    const backend = opening();
    const how = draw(4);
    if (how < 2) assert.deepEqual(await backend.ack([{ lease }]), [owned]);
    else if (how === 2) {
      const delayMs = draw(2) * 5 * second;
      assert.equal(await backend.nack(lease, { delayMs, countAttempt: draw(2) === 0 }), owned);
    } else {
      const reason = pick(['exhausted', 'cancelled'] as const)!;
      assert.equal(await backend.abandon(lease, { reason, error: 'HANDLER: no' }), owned);
      if (owned && reason === 'exhausted') one.isDead = true;
      else if (owned) alive.delete(one.id);
    }
    if (!owned) return;
    stale.push(lease);
    one.lease = null;
    if (how < 2) alive.delete(one.id);
  }

  async function settleStale(lease: JobLease | undefined): Promise<void> {
    if (!lease) return;
    assert.deepEqual(await opening().ack([{ lease }]), [false]);
    assert.equal(await opening().nack(lease, { delayMs: 0, countAttempt: true }), false);
  }

  async function reap(): Promise<void> {
    await opening().reapExpired(mail);
    for (const one of leased()) {
      if (isOwned(one)) continue;
      stale.push(one.lease!);
      one.lease = null;
    }
  }

  async function cancel(one: Known | undefined): Promise<void> {
    if (!one || one.isDead || one.lease) return;
    assert.equal(await t.stores.records.cancel(one.id), 'cancelled');
    alive.delete(one.id);
  }

  async function retry(one: Known | undefined): Promise<void> {
    if (!one) return;
    assert.equal(await t.admin.deadLetters.retry([one.id]), 1);
    Object.assign(one, { isDead: false, number: ++arrivals });
  }

  async function clear(): Promise<void> {
    const waiting = all().filter(({ lease, isDead }) => lease === null && !isDead);
    assert.equal(await t.admin.clear(mail), waiting.length);
    for (const { id } of waiting) alive.delete(id);
  }

  const steps: readonly (readonly [weight: number, step: () => Promise<void>])[] = [
    [6, enqueue],
    [8, () => fetch(1 + draw(5), pick([second, 10 * second, hour])!)],
    [8, async () => void (leased().length > 0 && (await settle(pick(leased())!)))],
    [1, () => settleStale(pick(stale))],
    [3, async () => t.advance(pick([1, second, 5 * second])!)],
    [2, reap],
    [1, () => cancel(pick(all()))],
    [1, () => retry(pick(all().filter(({ isDead }) => isDead)))],
  ];
  const weighted = steps.flatMap(([weight, step]) => new Array<typeof step>(weight).fill(step));
  for (let i = 0; i < 150; i++) {
    await pick(weighted)!();
    if (i % 50 === 49 && draw(3) === 0) await clear();
  }
  // The running workers have died. All jobs must still end.
  await t.advance(2 * hour);
  await reap();
  for (let round = 0; all().some(({ isDead }) => !isDead); round++) {
    assert.ok(round < 500, `groups are stuck (seed ${seed})`);
    await fetch(10, minute);
    for (const one of leased()) {
      assert.deepEqual(await t.backend.ack([{ lease: one.lease! }]), [true]);
      alive.delete(one.id);
    }
  }
  const [stats] = await t.admin.stats(mail);
  assert.deepEqual([stats!.ready, stats!.delayed, stats!.leased], [0, 0, 0]);
}
