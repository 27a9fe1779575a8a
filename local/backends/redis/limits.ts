import { slices } from '../../../core/base/slices.ts';
import type {
  LimitState,
  LimitStore,
  SlotAnswer,
  SlotWaiter,
  TakenSlot,
} from '../../../core/contract/limits.ts';
import { scripts } from './scripts.ts';
import type { RedisState } from './state.ts';

/** While a script runs the server does nothing else. */
const mostPerCall = 500;
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

const call = (state: RedisState, during: string, action: string, args: readonly string[]) =>
  state.link.run(during, scripts.limits, `${state.prefix}:{limits}`, [state.at(), action, ...args]);

/** One step: call it until it answers 0. */
export const purgeLimits = (state: RedisState) =>
  call(state, 'purging limits', 'purge', []) as Promise<number>;

export function redisLimits(state: RedisState): LimitStore {
  const run = (during: string, action: string, ...args: readonly string[]) =>
    call(state, during, action, args);

  return {
    async take(requests) {
      const answers: SlotAnswer[] = [];
      for (const some of slices(requests, mostPerCall)) {
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
      for (const some of slices(slots, mostPerCall)) {
        const args = some.flatMap(namesOf);
        const found = await run('extending slots', 'extend', `${Math.ceil(holdMs)}`, ...args);
        for (const flag of found as string) flags.push(flag === '1');
      }
      return flags;
    },
    async free(slots) {
      const woken: SlotWaiter[] = [];
      for (const some of slices(slots, mostPerCall))
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
        shown.push(...states.map(stateOf));
        if (last === '') break;
        from = `(${last}`;
      }
      return shown.slice(0, max);
    },
    async leave(holders) {
      for (const some of slices(holders, mostPerCall)) await run('leaving limits', 'leave', ...some);
    },
    waitsFor: async (holder) => ((await run('reading limits', 'waitsFor', holder)) as string[]).sort(),
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

function stateOf([key, limit, used, heldUntil, waiting, texts]: StateAnswer): LimitState {
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
