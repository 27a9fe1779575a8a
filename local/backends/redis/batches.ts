import { slices } from '../../../core/base/slices.ts';
import type { BatchState, BatchStore } from '../../../core/contract/batches.ts';
import { byBatch, mostListedBatches } from '../../../core/kit/records/batch-rules.ts';
import { scripts } from './scripts.ts';
import type { RedisState } from './state.ts';

/** While a script runs the server does nothing else. */
const mostPerCall = 1_000;

const call = (state: RedisState, during: string, action: string, args: readonly string[]) =>
  state.link.run(during, scripts.batches, `${state.prefix}:{batches}`, [state.at(), action, ...args]);

/** One step: call it until it answers 0. */
export const purgeBatches = (state: RedisState) =>
  call(state, 'purging batches', 'purge', []) as Promise<number>;

export function redisBatches(state: RedisState): BatchStore {
  const run = (during: string, action: string, ...args: readonly string[]) =>
    call(state, during, action, args);

  async function numbers(id: string, kind: 'ended' | 'failed', bit: '0' | '1', from: number, max: number) {
    const found: number[] = [];
    for (let next = `${from}`; next !== '' && found.length < max; ) {
      const most = `${Math.min(mostPerCall, max - found.length)}`;
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
      for (const some of slices(ends, mostPerCall)) {
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
      for (const some of slices(numbers, mostPerCall))
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
