/** A limit store over any table that can compare and swap. The rules are in limit-rules.ts. */

import type { Clock } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type {
  LimitState,
  LimitStore,
  SlotAnswer,
  SlotRequest,
  SlotWaiter,
  TakenSlot,
} from '../../contract/derived/limits.ts';
import { forEach } from '../parallel.ts';
import type { Section } from '../texts/section.ts';
import {
  aliveOf,
  emptyLimit,
  endOfHold,
  endOfLimit,
  extended,
  forever,
  freed,
  held,
  left,
  mostShownKeys,
  type StoredLimit,
  shownLimit,
  taken,
  type WaiterTexts,
  withoutCounted,
  woken,
} from './limit-rules.ts';
import { shortOwner } from './owner.ts';
import { backOff } from './swap.ts';

/** A name is a letter and the key of a limit or the id of a waiting job. If a text does not fit, the waiters with the highest ranks go. */
export type LimitTable = Pick<Section, 'read' | 'write' | 'remove' | 'list'> &
  Partial<Pick<Section, 'fits' | 'pauseMs'>> & {
    /** The most waiters that a key remembers, because the table limits the length of a text. @default 1_000 */
    readonly mostWaiters?: number;
  };

/** Many workers may write one key at once. In each round one of them succeeds. */
const mostTries = 200;
const longestPauseMs = 500;

/** Added to the time of a waiter, so that a job that asks again and again rarely writes its keys. */
const slackMs = 86_400_000;

const ofKey = (key: string): string => `k${key}`;
const ofHolder = (holder: string): string => `h${holder}`;
/** The text with all keys that are held until a reset, and maybe more. @param prefix of the keys, up to their first colon */
const ofHeld = (prefix: string): string => `r${prefix}`;
const prefixOf = (key: string): string => key.slice(0, key.indexOf(':') + 1);

/** The keys that a job waits for, each with the time when the entry ends. */
type Waits = Readonly<Record<string, number>>;

const waitsIn = (text: string | undefined): Waits => JSON.parse(text ?? '{}') as Waits;

const heldIn = (text: string | undefined): string[] => JSON.parse(text ?? '[]') as string[];

const read = (text: string | undefined, now: number): StoredLimit =>
  text === undefined ? emptyLimit : aliveOf(JSON.parse(text) as StoredLimit, now);

const isHeld = ({ heldUntil }: StoredLimit): boolean => (heldUntil ?? 0) >= forever;

type Work<T> = (
  state: StoredLimit,
  now: number,
  texts: WaiterTexts,
) => { readonly state: StoredLimit; readonly answer: T };

/** One call's change of a key. Applied again after each lost race. */
interface Change {
  apply(state: StoredLimit, now: number, texts: WaiterTexts): StoredLimit;
  /** Called after its last state was written. */
  done(): void;
  reject(error: unknown): void;
}

const shortest = <Slot extends TakenSlot>(slot: Slot): Slot => ({ ...slot, owner: shortOwner(slot.owner) });

export function limitStore(table: LimitTable, clock: Clock): LimitStore {
  /** @param decide returns the new text; `null` = remove it */
  async function update<T>(
    name: string,
    decide: (text: string | undefined) => Promise<{ answer: T; text: string | null; endsAt: number }>,
  ): Promise<T> {
    for (let tries = 0; tries < mostTries; tries++) {
      if (tries > 0 && table.pauseMs)
        await backOff(Math.min(longestPauseMs, table.pauseMs * 2 ** (tries - 1)));
      const found = await table.read(name);
      const { answer, text, endsAt } = await decide(found?.text);
      if (text === (found?.text ?? null)) return answer;
      const done =
        text !== null
          ? table.write(name, text, found?.version ?? null, endsAt)
          : table.remove(name, found!.version);
      if (await done) return answer;
    }
    throw new LongshoreError('BACKEND', `Expected to write the limit ${name}, lost ${mostTries} races.`);
  }

  const waiting = new Map<string, Change[]>();

  /** Changes that come during a write of the same key are written together afterwards: a process does not race with itself. */
  function change<T>(key: string, work: Work<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let done = (): void => {};
      const one: Change = {
        apply(state, now, texts) {
          try {
            const changed = work(state, now, texts);
            const fitted = fitting(key, changed.state);
            done = () => resolve(changed.answer);
            return fitted;
          } catch (error) {
            done = () => reject(error);
            return state;
          }
        },
        done: () => done(),
        reject,
      };
      const others = waiting.get(key);
      if (others) others.push(one);
      else {
        waiting.set(key, [one]);
        void writeAll(key);
      }
    });
  }

  async function writeAll(key: string): Promise<void> {
    for (let changes = waiting.get(key)!; changes.length > 0; changes = waiting.get(key)!) {
      waiting.set(key, []);
      try {
        await write(key, changes);
        for (const one of changes) one.done();
      } catch (error) {
        for (const one of changes) one.reject(error);
      }
    }
    waiting.delete(key);
  }

  async function write(key: string, changes: readonly Change[]): Promise<void> {
    const remembered = new Set<string>();
    const turns = new Map<string, number | undefined>();
    const left = await update(ofKey(key), async (before) => {
      const now = clock.now();
      const old = read(before, now);
      const { state, texts } = await applied(key, changes, old, now, turns);
      if (state === old) return { answer: texts.leaves, text: before ?? null, endsAt: 0 };
      // Before the write, so that a crash in between loses no waiter.
      const known = new Set(old.waiters);
      const begin = state.waiters.filter((waiter) => !known.has(waiter) && !remembered.has(waiter.holder));
      await forEach(begin, async ({ holder, until }) => {
        await rememberWait(holder, key, until, until);
        remembered.add(holder);
      });
      await forEach(texts.joins, ([holder, turn]) => rememberWait(holder, key, turn));
      const endsAt = endOfLimit(state);
      return { answer: texts.leaves, text: endsAt === 0 ? null : JSON.stringify(state), endsAt };
    });
    await forEach(left, (holder) => forgetWait(holder, key));
  }

  /** Applies the changes, and once more where they depend on texts of waiters. @param turns the turns that are known */
  async function applied(
    key: string,
    changes: readonly Change[],
    old: StoredLimit,
    now: number,
    turns: Map<string, number | undefined>,
  ): Promise<{ state: StoredLimit; texts: WaiterTexts }> {
    for (;;) {
      const unknown = new Set<string>();
      const joins = new Map<string, number>();
      const texts: WaiterTexts = {
        turnOf(waiter) {
          if (!joins.has(waiter) && !turns.has(waiter)) unknown.add(waiter);
          return joins.get(waiter) ?? turns.get(waiter);
        },
        joins,
        leaves: new Set(),
      };
      const state = changes.reduce((found, one) => one.apply(found, now, texts), old);
      if (unknown.size === 0) return { state, texts };
      await forEach(unknown, async (waiter) => {
        const end = (await waitsOf(waiter))[key];
        turns.set(waiter, end === undefined || end <= now ? undefined : end - slackMs);
      });
    }
  }

  function fitting(key: string, whole: StoredLimit): StoredLimit {
    let state = whole;
    while (table.fits?.(JSON.stringify(state)) === false) {
      const { length } = state.waiters;
      if (length === 0)
        throw new LongshoreError(
          'LIMIT',
          `Expected the slots of the limit ${key} to fit into one item, got ${state.slots.length} of them. Use a smaller limit, or smooth.`,
        );
      state = { ...state, waiters: state.waiters.slice(0, length >> 1) };
    }
    return state;
  }

  /** @param enough an entry that ends then or later is kept */
  const rememberWait = (holder: string, key: string, until: number, enough = Infinity): Promise<void> =>
    update(ofHolder(holder), async (before) => {
      const waits = waitsIn(before);
      if ((waits[key] ?? 0) >= enough) return { answer: undefined, text: before!, endsAt: 0 };
      const now = clock.now();
      const lasting = Object.entries(waits).filter(([, end]) => end > now);
      const next = { ...Object.fromEntries(lasting), [key]: until + slackMs };
      return { answer: undefined, text: JSON.stringify(next), endsAt: Math.max(...Object.values(next)) };
    });

  const stateOf = async (key: string): Promise<StoredLimit> =>
    read((await table.read(ofKey(key)))?.text, clock.now());

  const noteHeld = (prefix: string, add: readonly string[], remove?: string): Promise<void> =>
    update(ofHeld(prefix), async (before) => {
      const known = new Set([...heldIn(before), ...add]);
      if (remove !== undefined) known.delete(remove);
      return { answer: undefined, text: JSON.stringify([...known].sort()), endsAt: forever };
    });

  const forgetWait = (holder: string, key: string): Promise<void> =>
    update(ofHolder(holder), async (before) => {
      const { [key]: _, ...rest } = waitsIn(before);
      const ends = Object.values(rest);
      const text = ends.length === 0 ? null : JSON.stringify(rest);
      return { answer: undefined, text, endsAt: Math.max(...ends) };
    });

  /** The keys that this job has waited for, and may still wait for. */
  const waitsOf = async (holder: string): Promise<Waits> =>
    waitsIn((await table.read(ofHolder(holder)))?.text);

  /** Changes each key once. The answers are in the order of the items. */
  async function byKey<Item extends { readonly key: string }, T>(
    items: readonly Item[],
    work: (
      state: StoredLimit,
      item: Item,
      now: number,
      texts: WaiterTexts,
    ) => { state: StoredLimit; answer: T },
  ): Promise<readonly T[]> {
    const answers: T[] = [];
    await forEach(groupsOf(items), ([key, group]) =>
      change(key, (found, now, texts) => {
        let state = found;
        for (const [place, item] of group) {
          const changed = work(state, item, now, texts);
          answers[place] = changed.answer;
          state = changed.state;
        }
        return { state, answer: undefined };
      }),
    );
    return answers;
  }

  return {
    take: (requests) =>
      byKey<SlotRequest, SlotAnswer>(requests, (state, request, now, texts) =>
        taken(state, shortest(request), now, texts, table.mostWaiters),
      ),
    extend: (slots, holdMs) =>
      byKey(slots, (state, slot, now) => extended(state, shortest(slot), now + Math.ceil(holdMs))),
    async free(slots) {
      const waiters: SlotWaiter[] = [];
      await forEach(groupsOf(slots), async ([key, group]) => {
        const owned = group.map(([, slot]) => shortest(slot));
        waiters.push(...(await change(key, (state) => freed(state, key, owned))));
      });
      return waiters;
    },
    wake: (key, max) => change(key, (state) => woken(withoutCounted(state), key, max)),
    async hold(key, ms) {
      // First, so that a crash leaves no held key that is not in the list.
      if (ms === Infinity) await noteHeld(prefixOf(key), [key]);
      await change(key, (state, now) => ({ state: held(state, endOfHold(now, ms), now), answer: undefined }));
    },
    async reset(key) {
      const { had, wasHeld } = await change(key, (state) => ({
        state: { ...state, slots: [], heldUntil: null },
        answer: { had: state.slots.length > 0 || state.heldUntil !== null, wasHeld: isHeld(state) },
      }));
      if (wasHeld) await noteHeld(prefixOf(key), [], key);
      return had;
    },
    async heldUntilReset(prefix) {
      const keys = heldIn((await table.read(ofHeld(prefix)))?.text);
      const states = await Promise.all(keys.map(stateOf));
      return keys.filter((_, i) => isHeld(states[i]!));
    },
    async list({ prefix = '', after = '', max = mostShownKeys }) {
      const shown: LimitState[] = [];
      for (let last = ofKey(after); shown.length < max; ) {
        const wanted = max - shown.length;
        const rows = await table.list(ofKey(prefix), last, wanted);
        for (const { name, text } of rows) {
          const one = shownLimit(name.slice(1), read(text, clock.now()));
          if (one) shown.push(one);
          last = name;
        }
        if (rows.length < wanted) break;
      }
      return shown;
    },
    async leave(holders) {
      const byKey = new Map<string, Set<string>>();
      await forEach(holders, async (holder) => {
        const keys = await update(ofHolder(holder), async (before) => {
          return { answer: Object.keys(waitsIn(before)), text: null, endsAt: 0 };
        });
        for (const key of keys) byKey.set(key, (byKey.get(key) ?? new Set()).add(holder));
      });
      await forEach(byKey, ([key, some]) =>
        change(key, (state) => ({ state: left(state, some), answer: undefined })),
      );
    },
    async waitsFor(holders) {
      const asked = await Promise.all(holders.map(waitsOf));
      const states = new Map<string, StoredLimit>();
      await forEach(new Set(asked.flatMap(Object.keys)), async (key) => {
        states.set(key, await stateOf(key));
      });
      const now = clock.now();
      const waits = (holder: string, key: string, end: number): boolean => {
        const { waiters, counted } = states.get(key)!;
        return waiters.some((waiter) => waiter.holder === holder) || (!!counted && end > now);
      };
      return asked.map((keys, i) =>
        Object.entries(keys)
          .flatMap(([key, end]) => (waits(holders[i]!, key, end) ? key : []))
          .sort(),
      );
    },
  };
}

/** The items by key, each with its index. */
function groupsOf<Item extends { readonly key: string }>(
  items: readonly Item[],
): Map<string, (readonly [number, Item])[]> {
  const groups = new Map<string, (readonly [number, Item])[]>();
  for (const [place, item] of items.entries()) {
    const group = groups.get(item.key);
    if (group) group.push([place, item]);
    else groups.set(item.key, [[place, item]]);
  }
  return groups;
}
