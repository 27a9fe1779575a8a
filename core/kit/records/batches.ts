/** A batch store over any table that can compare and swap. The marks are the truth; the head remembers which blocks are full. */

import type { Clock } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { BatchState, BatchStore, ChildEnd } from '../../contract/derived/batches.ts';
import { forEach } from '../parallel.ts';
import {
  blocksOf,
  groupsFrom,
  hasFailed,
  hasNotEnded,
  markOf,
  marksIn,
  numbersIn,
  shareOf,
  textOfMarks,
} from './batch-blocks.ts';
import {
  byBatch,
  callWithinMs,
  countBits,
  endOfBatch,
  keepSilentMs,
  type Marks,
  mostListedBatches,
  setMark,
  takeMark,
} from './batch-rules.ts';
import type { LimitTable } from './limits.ts';
import { lookList } from './look-list.ts';
import { backOff } from './swap.ts';

/** Texts by prefix: `b` heads, `m` marks, `l` all batches by age, `o` open batches by their next look. Only `l` and `o` are listed. */
export type BatchTable = Pick<LimitTable, 'read' | 'write' | 'remove' | 'list' | 'pauseMs'>;

type Counts = readonly [succeeded: number, failed: number];

interface Head extends Omit<BatchState, 'succeeded' | 'failed'> {
  readonly sender: string;
  readonly lookAt: number;
  /** The time of its entry in the list of open batches, as far as the head knows. Absent = an earlier release wrote it. */
  readonly listedAt?: number;
  /** The counts of the blocks whose children have all ended. */
  readonly full: Readonly<Record<number, Counts>>;
  /** Marks are being cleared: the batch cannot complete meanwhile. */
  readonly held?: boolean;
}

const mostTries = 200;
const longestPauseMs = 500;
/** A sender writes the entry and then the head. An entry without a head is removed after this time. */
const headlessMs = 3_600_000;

const headName = (id: string): string => `b${id}`;
const marksName = (id: string, block: number): string => `m${id}/${block}`;
/** Sorts the newest batch first. */
const listName = ({ id, createdAt }: Pick<Head, 'id' | 'createdAt'>): string =>
  `l${String(10 ** 15 - createdAt).padStart(16, '0')}.${id}`;

export function batchStore(table: BatchTable, clock: Clock): BatchStore {
  /** Replaces a text by the one that `make` returns, and resolves with its answer. `null` = nothing is written. */
  async function update<T>(
    name: string,
    make: (text: string | undefined) => { text: string | null; endsAt: number; answer: T },
  ): Promise<T> {
    for (let tries = 0; tries < mostTries; tries++) {
      if (tries > 0 && table.pauseMs)
        await backOff(Math.min(longestPauseMs, table.pauseMs * 2 ** (tries - 1)));
      const found = await table.read(name);
      const { text, endsAt, answer } = make(found?.text);
      if (text === null || text === found?.text) return answer;
      if (await table.write(name, text, found?.version ?? null, endsAt)) return answer;
    }
    throw new LongshoreError('BACKEND', `Expected to write the batch ${name}, lost ${mostTries} races.`);
  }

  const keep = (name: string, id: string): Promise<unknown> =>
    table.write(name, id, undefined, clock.now() + 2 * keepSilentMs);

  const list = lookList(table, keep);

  const read = async (id: string): Promise<Head | null> => {
    const found = await table.read(headName(id));
    return found ? (JSON.parse(found.text) as Head) : null;
  };

  /** Resolves with the head after the change; `null` = no such batch. @param change returns `null` to leave the head unchanged */
  const changeHead = (id: string, change: (head: Head) => Head | null): Promise<Head | null> =>
    update(headName(id), (text) => {
      const head = text === undefined ? null : (JSON.parse(text) as Head);
      const next = head && change(head);
      if (!next) return { text: null, endsAt: 0, answer: head };
      return { text: JSON.stringify(next), endsAt: endOfBatch(next), answer: next };
    });

  const readMarks = async (id: string, block: number) =>
    marksIn((await table.read(marksName(id, block)))?.text);

  const changeMarks = (id: string, block: number, change: (marks: Marks) => void): Promise<Counts> =>
    update(marksName(id, block), (text) => {
      const marks = marksIn(text);
      const before = textOfMarks(marks, marks.at);
      change(marks);
      const isSame = textOfMarks(marks, marks.at) === before;
      const now = clock.now();
      return {
        text: isSame ? null : textOfMarks(marks, now),
        endsAt: now + keepSilentMs,
        answer: countsOf(marks),
      };
    });

  async function readBlocks(id: string, blocks: readonly number[]) {
    const found: (Marks & { block: number; at: number })[] = [];
    await forEach(blocks, async (block) => found.push({ block, ...(await readMarks(id, block)) }), 16);
    return found;
  }

  async function stateOf(head: Head): Promise<BatchState> {
    const { sender: _, lookAt: _1, full, held: _2, listedAt: _3, ...state } = head;
    const known = Object.values(full);
    let { changedAt } = state;
    const open = blocksOf(state.planned).filter((block) => full[block] === undefined);
    for (const marks of await readBlocks(state.id, state.completedAt === null ? open : [])) {
      known.push(countsOf(marks));
      changedAt = Math.max(changedAt, marks.at);
    }
    const sum = (i: 0 | 1) => known.reduce((all, counts) => all + counts[i], 0);
    return { ...state, changedAt, succeeded: sum(0), failed: sum(1) };
  }

  /** Records which of these blocks are full. Resolves with whether this completes the batch. */
  async function settle(id: string, counted: ReadonlyMap<number, Counts>): Promise<boolean> {
    const isNews = (head: Head) => head.sealed && head.completedAt === null && !head.held;
    const seen = await read(id);
    if (!seen || !isNews(seen)) return false;
    let completes = false;
    await changeHead(id, (head) => {
      completes = false;
      if (!isNews(head)) return null;
      const full = { ...head.full };
      for (const [block, counts] of counted)
        if (counts[0] + counts[1] === shareOf(block, head.sent)) full[block] = counts;
      completes = blocksOf(head.sent).every((block) => full[block] !== undefined);
      if (!completes && JSON.stringify(full) === JSON.stringify(head.full)) return null;
      const now = clock.now();
      return {
        ...head,
        full,
        ...(completes && { completedAt: now, changedAt: now, lookAt: now + callWithinMs }),
      };
    });
    return completes;
  }

  /** Call it after the head is sealed: a child that ends later sees that and settles its own block. */
  async function settleAll(id: string): Promise<void> {
    const head = await read(id);
    if (!head?.sealed || head.completedAt !== null) return;
    const blocks = blocksOf(head.sent).filter((block) => head.full[block] === undefined);
    const found = await readBlocks(id, blocks);
    await settle(id, new Map(found.map((marks) => [marks.block, countsOf(marks)])));
  }

  async function stateAfter(id: string): Promise<BatchState | null> {
    const head = await read(id);
    return head && stateOf(head);
  }

  async function endSome(id: string, ends: readonly ChildEnd[]): Promise<boolean> {
    const head = await read(id);
    if (!head || head.completedAt !== null) return false;
    const byBlock = Map.groupBy(
      ends.filter(({ number }) => number < head.planned),
      ({ number }) => markOf(number).block,
    );
    const counted = new Map<number, Counts>();
    await forEach(byBlock, async ([block, some]) => {
      const counts = await changeMarks(id, block, (marks) => {
        for (const { number, failed } of some) setMark(marks, markOf(number).at, failed);
      });
      counted.set(block, counts);
    });
    return counted.size > 0 && settle(id, counted);
  }

  async function numbersOf(
    id: string,
    from: number,
    max: number,
    holds: (marks: Marks, at: number) => boolean,
  ): Promise<number[]> {
    const head = await read(id);
    const found: number[] = [];
    const count = head?.planned ?? 0;
    for (const blocks of groupsFrom(from, count)) {
      const marks = await readBlocks(id, blocks);
      const some = marks.map((each) => [each.block, each] as const);
      found.push(...numbersIn(some, { from, count }, holds));
      if (found.length >= max) break;
    }
    return found.slice(0, max);
  }

  return {
    async open({ id, plan, sender, planned }) {
      const now = clock.now();
      const fresh: Head = {
        ...{ id, plan, sender, planned, sent: 0, createdAt: now, changedAt: now, lookAt: now, listedAt: now },
        ...{ sealed: false, cancelledAt: null, completedAt: null, round: 1, called: false, full: {} },
      };
      const known = await read(id);
      // Both entries before the head: entries without a head are skipped, but a head without entries would be in no list.
      if (!known) await list.put(id, now);
      await keep(listName(known ?? fresh), id);
      const head = await update(headName(id), (text) => {
        const old = text === undefined ? null : (JSON.parse(text) as Head);
        if (old?.sealed) return { text: null, endsAt: 0, answer: old };
        const next = old ? { ...old, sender, planned: Math.max(old.planned, planned) } : fresh;
        return { text: JSON.stringify(next), endsAt: endOfBatch(next), answer: next };
      });
      return stateOf(head);
    },
    async sent(id, sender, progress) {
      let isOurs = false;
      await changeHead(id, (head) => {
        isOurs = head.sender === sender && !head.sealed;
        return isOurs ? { ...head, ...progress, changedAt: clock.now() } : null;
      });
      if (!isOurs) return null;
      if (progress.sealed) await settleAll(id);
      return stateAfter(id);
    },
    async ended(ends) {
      const complete: string[] = [];
      for (const [id, some] of byBatch(ends)) if (await endSome(id, some)) complete.push(id);
      return complete;
    },
    get: stateAfter,
    async list({ after, max = mostListedBatches }) {
      const last = after === undefined ? null : await read(after);
      const rows = await table.list('l', last ? listName(last) : '', max);
      const found = await Promise.all(rows.map(({ text }) => read(text)));
      return Promise.all(found.filter((head) => head !== null).map(stateOf));
    },
    async cancel(id) {
      const now = clock.now();
      let isOpen = false;
      await changeHead(id, (head) => {
        isOpen = head.completedAt === null;
        if (!isOpen || head.cancelledAt !== null) return null;
        return { ...head, sealed: true, sent: head.sealed ? head.sent : head.planned, cancelledAt: now };
      });
      if (!isOpen) return null;
      await settleAll(id);
      return stateAfter(id);
    },
    unended: (id, from, max) => numbersOf(id, from, max, hasNotEnded),
    failed: (id, from, max) => numbersOf(id, from, max, hasFailed),
    async reopen(id, numbers) {
      const failed = new Set(await numbersOf(id, 0, Infinity, hasFailed));
      const wanted = numbers.filter((number) => failed.has(number));
      if (wanted.length === 0) return 0;
      const byBlock = Map.groupBy(wanted, (number) => markOf(number).block);
      // Held, so that no process records these blocks as full while their marks are cleared.
      await changeHead(id, (head) => {
        const full = Object.fromEntries(
          Object.entries(head.full).filter(([block]) => !byBlock.has(Number(block))),
        );
        const round = head.completedAt === null ? head.round : head.round + 1;
        const open = { completedAt: null, called: false, cancelledAt: null, changedAt: clock.now() };
        return { ...head, full, round, held: true, ...open };
      });
      let count = 0;
      await forEach(byBlock, async ([block, some]) => {
        let taken = 0;
        await changeMarks(id, block, (marks) => {
          taken = some.filter((number) => takeMark(marks, markOf(number).at)).length;
        });
        count += taken;
      });
      const now = clock.now();
      await changeHead(id, ({ held: _, ...head }) => ({
        ...head,
        changedAt: now,
        lookAt: now,
        listedAt: now,
      }));
      await list.put(id, now);
      return count;
    },
    async called(id, round) {
      const head = await changeHead(id, (head) =>
        head.round === round && head.completedAt !== null ? { ...head, called: true } : null,
      );
      // The next look removes an entry at another time.
      if (head?.called) await list.remove(id, head.listedAt ?? head.lookAt);
    },
    async toCheck({ quietMs, everyMs, max }) {
      const now = clock.now();
      const found: BatchState[] = [];
      await list.each(now, async (id, at) => {
        if (found.length >= max) return 'stop';
        const head = await read(id);
        if (!head) return at + headlessMs <= now ? 'gone' : at;
        if (head.called) return 'gone';
        if (head.lookAt > now) return head.lookAt;
        // A process died while it cleared marks.
        if (head.held && head.changedAt + quietMs <= now)
          await changeHead(id, ({ held: _, ...rest }) => rest);
        await settleAll(id);
        const state = await stateAfter(id);
        if (!state) return 'gone';
        if (state.completedAt === null && state.changedAt + quietMs > now) return state.changedAt + quietMs;
        let isMine = false;
        const next = await changeHead(id, (head) => {
          isMine = head.lookAt <= now && !head.called;
          return isMine ? { ...head, lookAt: now + everyMs, listedAt: now + everyMs } : null;
        });
        if (isMine) found.push(state);
        return next === null || next.called ? 'gone' : next.lookAt;
      });
      return found;
    },
  };
}

const countsOf = ({ ended, failed }: Marks): Counts => {
  const bad = countBits(failed);
  return [countBits(ended) - bad, bad];
};
