/** Random sequences of everything that can happen to limits, compared step by step with a small reference. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type {
  LimitState,
  LimitStore,
  SlotAnswer,
  SlotRequest,
  SlotWaiter,
  TakenSlot,
} from '../../../core/contract/derived/limits.ts';
import type { Harness, Runner } from './harness.ts';
import { type Kit, second } from './kit.ts';
import { lawsOf } from './law.ts';
import { limitsOf } from './store-limits-kit.ts';

const { SEED } = process.env;

interface World {
  readonly t: Kit;
  readonly stores: readonly LimitStore[];
  readonly reference: ReturnType<typeof createReference>;
  /** Different ones in each sequence, so that all can use one storage. */
  readonly name: (text: string) => string;
}

type Step = (world: World) => Promise<void>;

const key = fc.constantFrom('a', 'b', 'c');
const holder = fc.constantFrom('j1', 'j2', 'j3', 'j4', 'j5', 'j6');
const name = fc.oneof(holder, fc.constantFrom('w1', 'w2'));
const owner = fc.constantFrom('o1', 'o2');
const ms = fc.constantFrom(1, 500, 2 * second, 5 * second, 30 * second);
const opening = fc.nat(1);
const request = fc.record({
  key,
  holder,
  owner,
  holdMs: ms,
  limit: fc.integer({ min: 1, max: 4 }),
  rank: fc.nat(6),
  // Waiters with a name, and callers without.
  waiter: fc.constantFrom('j1', 'w1', 'w2', null),
});
const slot = fc.record({ key, holder, owner });

const inWorld = <T extends { key: string; holder: string }>({ name }: World, one: T): T => ({
  ...one,
  key: name(one.key),
  holder: name(one.holder),
});

/** Once on the store, through one of its openings, and once on the reference. */
async function both<T>(
  { stores, reference }: World,
  by: number,
  call: (limits: LimitStore | World['reference']) => T | Promise<T>,
): Promise<void> {
  const got = await call(stores[by % stores.length]!);
  assert.deepEqual(got, await call(reference));
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(opening, fc.array(request, { minLength: 1, maxLength: 4 })).map(
      ([by, some]): Step =>
        (world) => {
          const requests = some.map(({ waiter, ...one }) => ({
            ...inWorld(world, one),
            ...(waiter !== null && { waiter: world.name(waiter) }),
            queue: 'mail',
          }));
          return both(world, by, (limits) => limits.take(requests));
        },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(opening, fc.array(slot, { minLength: 1, maxLength: 6 })).map(
      ([by, some]): Step =>
        (world) =>
          both(world, by, async (limits) => byKey(await limits.free(some.map((one) => inWorld(world, one))))),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(opening, fc.array(slot, { maxLength: 4 }), ms).map(
      ([by, some, holdMs]): Step =>
        (world) =>
          both(world, by, (limits) =>
            limits.extend(
              some.map((one) => inWorld(world, one)),
              holdMs,
            ),
          ),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(opening, key, fc.nat(3)).map(
      ([by, one, max]): Step =>
        (world) =>
          both(world, by, (limits) => limits.wake(world.name(one), max)),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(opening, key, fc.oneof(ms, fc.constant(Infinity))).map(
      ([by, one, holdMs]): Step =>
        (world) =>
          both(world, by, (limits) => limits.hold(world.name(one), holdMs)),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(opening, key).map(
      ([by, one]): Step =>
        (world) =>
          both(world, by, (limits) => limits.reset(world.name(one))),
    ),
  },
  {
    weight: 2,
    arbitrary: ms.map(
      (passed): Step =>
        async ({ t }) =>
          t.advance(passed),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>(async ({ t }) => void (await t.stores.records.purge())) },
  {
    weight: 1,
    arbitrary: fc.tuple(opening, fc.array(name, { maxLength: 3 })).map(
      ([by, some]): Step =>
        (world) =>
          both(world, by, (limits) => limits.leave(some.map(world.name))),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.array(name, { maxLength: 3 }).map(
      (some): Step =>
        (world) =>
          both(world, 0, (limits) => limits.waitsFor(some.map(world.name))),
    ),
  },
);

/** @param sequences how many */
export function describeLimitModel(name: string, harness: Harness, runner: Runner, sequences: number): void {
  const law = lawsOf(harness, runner);
  runner.describe(`${name} agrees with the reference of limits`, () => {
    law(`in ${sequences} random sequences`, async (t) => {
      const stores = limitsOf(t);
      let runs = 0;
      const property = fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        const prefix = `${++runs}:`;
        const own = (text: string) => prefix + text;
        const world: World = { t, stores, reference: createReference(t.now), name: own };
        for (const run of steps) {
          await run(world);
          await both(world, 0, async (limits) => limits.list({ prefix }));
        }
      });
      const seed = SEED ? { seed: Number(SEED) } : {};
      await fc.assert(property, { numRuns: sequences, ...seed });
    });
  });
}

/** The order of two keys in one answer is the store's own. */
const byKey = (waiters: readonly SlotWaiter[]) => Object.groupBy(waiters, (waiter) => waiter.key);

const waiterOf = ({ holder, waiter = holder }: SlotRequest): string => waiter;

interface ReferenceKey {
  slots: Map<string, { owner: string; until: number; limit: number }>;
  /** None is forgotten: no sequence takes a day. */
  waiters: Map<string, SlotRequest>;
  heldUntil: number;
}

function createReference(now: () => number) {
  const keys = new Map<string, ReferenceKey>();

  function find(name: string): ReferenceKey {
    const found = keys.get(name) ?? { slots: new Map(), waiters: new Map(), heldUntil: 0 };
    keys.set(name, found);
    for (const [one, { until }] of found.slots) if (until <= now()) found.slots.delete(one);
    return found;
  }
  const inOrder = (waiters: ReferenceKey['waiters']): SlotRequest[] =>
    [...waiters.values()].sort((a, b) => a.rank - b.rank || (waiterOf(a) < waiterOf(b) ? -1 : 1));
  const isHeld = ({ heldUntil }: ReferenceKey): boolean => heldUntil > now();

  function takeOne(asked: SlotRequest): SlotAnswer {
    const found = find(asked.key);
    const others = [...found.slots].filter(([one]) => one !== asked.holder).map(([, slot]) => slot);
    const limits = [asked.limit, ...others.map((slot) => slot.limit)];
    const [limit, largest] = [Math.min(...limits), Math.max(...limits)];
    found.waiters.delete(waiterOf(asked));
    if (others.length < limit && !isHeld(found)) {
      const { owner, limit: own, holdMs } = asked;
      found.slots.set(asked.holder, { owner, limit: own, until: now() + holdMs });
      return { taken: true, limit, largest };
    }
    found.waiters.set(waiterOf(asked), asked);
    const ahead = inOrder(found.waiters).indexOf(asked);
    const ends = others.length < limit ? [] : [Math.min(...others.map(({ until }) => until))];
    const begins = Math.max(...ends, ...(isHeld(found) ? [found.heldUntil] : []));
    const rounds = Math.floor(ahead / limit);
    return { taken: false, limit, largest, ahead, waitMs: begins - now() + rounds * asked.holdMs };
  }

  function wake(name: string, max: number): SlotWaiter[] {
    const found = find(name);
    const [first, ...more] = inOrder(found.waiters);
    if (!first || isHeld(found)) return [];
    const limit = Math.min(first.limit, ...[...found.slots.values()].map((slot) => slot.limit));
    const woken = [first, ...more].slice(0, Math.max(0, Math.min(max, limit - found.slots.size)));
    for (const one of woken) found.waiters.delete(waiterOf(one));
    return woken.map((one) => ({ key: one.key, holder: waiterOf(one), queue: one.queue }));
  }

  function isOwned({ key: name, holder: one, owner: by }: TakenSlot): boolean {
    return find(name).slots.get(one)?.owner === by;
  }

  return {
    take: (requests: readonly SlotRequest[]): readonly SlotAnswer[] => requests.map(takeOne),
    extend: (slots: readonly TakenSlot[], holdMs: number): readonly boolean[] =>
      slots.map((one) => {
        const owned = isOwned(one);
        if (owned) find(one.key).slots.get(one.holder)!.until = now() + holdMs;
        return owned;
      }),
    free(slots: readonly TakenSlot[]): readonly SlotWaiter[] {
      const counts = new Map<string, number>();
      for (const one of slots) {
        if (!isOwned(one)) continue;
        find(one.key).slots.delete(one.holder);
        counts.set(one.key, (counts.get(one.key) ?? 0) + 1);
      }
      return [...counts].flatMap(([name, count]) => wake(name, count));
    },
    wake,
    hold(name: string, holdMs: number): void {
      const found = find(name);
      found.heldUntil = Math.max(found.heldUntil, now() + holdMs);
    },
    reset(name: string): boolean {
      const found = find(name);
      const was = found.slots.size > 0 || isHeld(found);
      found.slots.clear();
      found.heldUntil = 0;
      return was;
    },
    list: (_filter: object): readonly LimitState[] =>
      [...keys.keys()].sort().flatMap((name) => {
        const found = find(name);
        const { slots, waiters } = found;
        if (slots.size + waiters.size === 0 && !isHeld(found)) return [];
        return {
          key: name,
          limit: slots.size === 0 ? null : Math.min(...[...slots.values()].map((slot) => slot.limit)),
          used: slots.size,
          slots: [...slots]
            .map(([one, { until }]) => ({ holder: one, until }))
            .sort((a, b) => a.until - b.until || (a.holder < b.holder ? -1 : 1)),
          heldUntil: isHeld(found) ? found.heldUntil : null,
          waiting: waiters.size,
        };
      }),
    leave(some: readonly string[]): void {
      for (const { waiters } of keys.values()) for (const one of some) waiters.delete(one);
    },
    waitsFor: (some: readonly string[]): readonly (readonly string[])[] =>
      some.map((one) => [...keys].flatMap(([name, { waiters }]) => (waiters.has(one) ? [name] : [])).sort()),
  };
}
