/** The stores that have scripts of their own: idempotency keys, limits and batches. */

import { slices } from '../../../core/base/slices.ts';
import type { BatchState, BatchStore } from '../../../core/contract/derived/batches.ts';
import type {
  LimitState,
  LimitStore,
  SlotAnswer,
  SlotWaiter,
  TakenSlot,
} from '../../../core/contract/derived/limits.ts';
import type { KeyClaim, KeyStore } from '../../../core/contract/store.ts';
import { byBatch, mostListedBatches } from '../../../core/kit/records/batch-rules.ts';
import { scripts } from './connection.ts';
import { flagsOf, type RedisState } from './state.ts';

/** The server does nothing else while a script runs. */
const mostSlotsPerCall = 500;
const mostChildrenPerCall = 1_000;
const keysPerPage = 100;
const mostShownSlots = 20;
/** The end of a hold until a reset. */
const forever = Number.MAX_SAFE_INTEGER;

type StateAnswer = [
  key: string,
  limit: number | null,
  used: number,
  heldUntil: string | null,
  waiting: number,
  slots: string[],
];

/** Runs the script of a store. Its keys all begin with `{limits}` or `{batches}`. */
const asking =
  (state: RedisState, store: 'limits' | 'batches') =>
  (during: string, action: string, ...args: readonly string[]): Promise<unknown> =>
    state.link.run(during, scripts[store], `${state.prefix}:{${store}}`, [state.at(), action, ...args]);

/** One step for both: call it until it returns 0, 0. */
export const purgeScriptStores = (state: RedisState) =>
  Promise.all([
    asking(state, 'limits')('purging limits', 'purge'),
    asking(state, 'batches')('purging batches', 'purge'),
  ]) as Promise<number[]>;

export function redisLimits(state: RedisState): LimitStore {
  const run = asking(state, 'limits');

  return {
    async take(requests) {
      const answers: SlotAnswer[] = [];
      for (const some of slices(requests, mostSlotsPerCall)) {
        const args: string[] = [];
        for (const { key, limit, holder, waiter = holder, owner, holdMs, rank, queue } of some)
          args.push(key, `${limit}`, holder, owner, `${Math.ceil(holdMs)}`, `${rank}`, queue, waiter);
        const found = (await run('taking slots', 'take', ...args)) as (number | null)[];
        for (let i = 0; i < found.length; i += 4)
          answers.push(answerOf(found[i]!, found[i + 1]!, found[i + 2]!, found[i + 3]!));
      }
      return answers;
    },
    async extend(slots, holdMs) {
      const flags: boolean[] = [];
      for (const some of slices(slots, mostSlotsPerCall)) {
        const args = some.flatMap(namesOf);
        flags.push(...flagsOf(await run('extending slots', 'extend', `${Math.ceil(holdMs)}`, ...args)));
      }
      return flags;
    },
    async free(slots) {
      const woken: SlotWaiter[] = [];
      for (const some of slices(slots, mostSlotsPerCall))
        woken.push(...waitersOf(await run('freeing slots', 'free', ...some.flatMap(namesOf))));
      return woken;
    },
    wake: async (key, max) => waitersOf(await run('waking those that wait', 'wake', key, `${max}`)),
    async hold(key, ms) {
      await run('holding a limit', 'hold', key, `${Math.min(Math.ceil(ms), forever)}`);
    },
    reset: async (key) => (await run('resetting a limit', 'reset', key)) === 1,
    async list({ prefix = '', after = '', max = keysPerPage }) {
      const shown: LimitState[] = [];
      let from = Buffer.compare(Buffer.from(after), Buffer.from(prefix)) < 0 ? `[${prefix}` : `(${after}`;
      if (after === '') from = `[${prefix}`;
      while (shown.length < max) {
        const found = await run('listing limits', 'list', prefix, from, `${keysPerPage}`);
        const [last, ...states] = found as [string, ...StateAnswer[]];
        shown.push(...states.map(limitOf));
        if (last === '') break;
        from = `(${last}`;
      }
      return shown.slice(0, max);
    },
    async leave(holders) {
      for (const some of slices(holders, mostSlotsPerCall)) await run('leaving limits', 'leave', ...some);
    },
    async waitsFor(holders) {
      const found: string[][] = [];
      for (const some of slices(holders, mostSlotsPerCall))
        found.push(...((await run('reading limits', 'waitsFor', ...some)) as string[][]));
      return found.map((keys) => keys.sort());
    },
  };
}

const namesOf = ({ key, holder, owner }: TakenSlot): string[] => [key, holder, owner];

function answerOf(limit: number, largest: number, ahead: number | null, waitMs: number): SlotAnswer {
  if (ahead === null) return { taken: true, limit, largest };
  return { taken: false, limit, largest, ahead, waitMs: waitMs < 0 ? Infinity : waitMs };
}

function waitersOf(answer: unknown): SlotWaiter[] {
  const texts = answer as string[];
  const waiters: SlotWaiter[] = [];
  for (let i = 0; i + 2 < texts.length; i += 3)
    waiters.push({ key: texts[i]!, holder: texts[i + 1]!, queue: texts[i + 2]! });
  return waiters;
}

function limitOf([key, limit, used, heldUntil, waiting, texts]: StateAnswer): LimitState {
  const slots = [];
  for (let i = 0; i + 1 < texts.length; i += 2)
    slots.push({ holder: texts[i]!, until: Number(texts[i + 1]) });
  slots.sort((a, b) => a.until - b.until || (a.holder < b.holder ? -1 : 1));
  const until = heldUntil === null ? null : Number(heldUntil);
  return {
    key,
    limit,
    used,
    slots: slots.slice(0, mostShownSlots),
    heldUntil: until === forever ? Infinity : until,
    waiting,
  };
}

export function redisBatches(state: RedisState): BatchStore {
  const run = asking(state, 'batches');

  async function numbers(id: string, kind: 'ended' | 'failed', bit: '0' | '1', from: number, max: number) {
    const found: number[] = [];
    for (let next = `${from}`; next !== '' && found.length < max; ) {
      const most = `${Math.min(mostChildrenPerCall, max - found.length)}`;
      const answer = (await run('reading a batch', 'numbers', id, kind, bit, next, most)) as string[];
      found.push(...answer.slice(1).map(Number));
      next = answer[0]!;
    }
    return found;
  }

  return {
    async open({ id, plan, sender, planned }) {
      return stateOf(await run('opening a batch', 'open', id, plan, sender, `${planned}`))!;
    },
    async sent(id, sender, { sent, planned, sealed }) {
      const args = [`${sent}`, `${planned}`, sealed ? '1' : '0'];
      return stateOf(await run('sending a batch', 'sent', id, sender, ...args));
    },
    async ended(ends) {
      const complete: string[] = [];
      for (const some of slices(ends, mostChildrenPerCall)) {
        const args: string[] = [];
        for (const [batch, theirs] of byBatch(some)) {
          args.push(batch, `${theirs.length}`);
          for (const { number, failed } of theirs) args.push(failed ? `-${number}` : `${number}`);
        }
        complete.push(...((await run('counting a batch', 'ended', ...args)) as string[]));
      }
      return complete;
    },
    get: async (id) => stateOf(await run('reading a batch', 'get', id)),
    async list({ after = '', max = mostListedBatches }) {
      return statesOf(await run('listing batches', 'list', after, `${max}`));
    },
    cancel: async (id) => stateOf(await run('cancelling a batch', 'cancel', id)),
    unended: (id, from, max) => numbers(id, 'ended', '0', from, max),
    failed: (id, from, max) => numbers(id, 'failed', '1', from, max),
    async reopen(id, numbers) {
      let count = 0;
      for (const some of slices(numbers, mostChildrenPerCall))
        count += (await run('reopening a batch', 'reopen', id, ...some.map(String))) as number;
      return count;
    },
    async called(id, round) {
      await run('closing a batch', 'called', id, `${round}`);
    },
    async toCheck({ quietMs, everyMs, max }) {
      return statesOf(await run('looking for batches', 'check', `${quietMs}`, `${everyMs}`, `${max}`));
    },
  };
}

function stateOf(answer: unknown): BatchState | null {
  if (!Array.isArray(answer)) return null;
  const [id, plan, createdAt, sent, planned, sealed, cancelledAt, ...rest] = answer as string[];
  const [succeeded, failed, round, changedAt, completedAt, called] = rest;
  return {
    id: id!,
    plan: plan!,
    createdAt: Number(createdAt),
    sent: Number(sent),
    planned: Number(planned),
    sealed: sealed === '1',
    cancelledAt: cancelledAt === '' ? null : Number(cancelledAt),
    succeeded: Number(succeeded),
    failed: Number(failed),
    round: Number(round),
    changedAt: Number(changedAt),
    completedAt: completedAt === '' ? null : Number(completedAt),
    called: called === '1',
  };
}

const statesOf = (answer: unknown): BatchState[] =>
  (answer as unknown[]).map(stateOf).filter((state) => state !== null);

type ClaimAnswer = ['claimed' | 'completed', value: string] | ['running', remainingMs: string];

/** A value begins with `=`, so that an empty value differs from none. */
const stored = (value: string | null): string => (value === null ? '' : `=${value}`);

export function redisKeys(state: RedisState): KeyStore {
  const { clock, link } = state;

  const call = (action: string, key: string, owner: string, until: number, value: string) => {
    const holdMs = Math.ceil(until - clock.now());
    const args = [state.at(), action, owner, `${holdMs}`, value];
    return link.run(`${action} of a key`, scripts.keys, state.key(key), args);
  };
  const write = async (...args: Parameters<typeof call>): Promise<boolean> => (await call(...args)) === 1;

  return {
    async claim(key, owner, holdUntil): Promise<KeyClaim> {
      const calledAt = clock.now();
      const [found, text] = (await call('claim', key, owner, holdUntil, '')) as ClaimAnswer;
      if (found === 'running') return { state: found, until: calledAt + Number(text) };
      return { state: found, value: text === '' ? null : text.slice(1) };
    },
    extend: (key, owner, holdUntil) => write('extend', key, owner, holdUntil, ''),
    complete: (key, owner, { value, keepUntil }) => write('complete', key, owner, keepUntil, stored(value)),
    release: (key, owner, keep) =>
      write('release', key, owner, keep?.keepUntil ?? clock.now(), keep ? stored(keep.value) : ''),
  };
}
