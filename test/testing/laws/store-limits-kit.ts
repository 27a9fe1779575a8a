import assert from 'node:assert/strict';
import type {
  LimitState,
  LimitStore,
  SlotAnswer,
  SlotRequest,
  TakenSlot,
} from '../../../core/contract/derived/limits.ts';
import { type Kit, minute } from './kit.ts';

export const key = 'job:invoice.send';

/** The store of every opening of the storage. */
export function limitsOf(t: Kit): LimitStore[] {
  return t.openings.map(({ name, stores }) => {
    assert.ok(stores?.limits, `the stores of "${name}" have no limits and declare no lack of them`);
    return stores.limits;
  });
}

export const request = (holder: string, change: Partial<SlotRequest> = {}): SlotRequest => ({
  key,
  limit: 1,
  holder,
  owner: `lease of ${holder}`,
  holdMs: minute,
  rank: 0,
  queue: 'mail',
  ...change,
});

export const slotOf = ({ key, holder, owner }: SlotRequest): TakenSlot => ({ key, holder, owner });

export async function take(limits: LimitStore, one: SlotRequest): Promise<SlotAnswer> {
  const [answer, ...more] = await limits.take([one]);
  assert.deepEqual(more, []);
  return answer!;
}

export const yes = (limit: number, largest = limit): SlotAnswer => ({ taken: true, limit, largest });
export const no = (limit: number, ahead: number, waitMs: number, largest = limit): SlotAnswer => ({
  taken: false,
  limit,
  largest,
  ahead,
  waitMs,
});
export const holdersOf = (waiters: readonly { readonly holder: string }[]): string[] =>
  waiters.map(({ holder }) => holder);

export async function stateOf(limits: LimitStore, of = key): Promise<LimitState | undefined> {
  return (await limits.list({ prefix: of })).find((state) => state.key === of);
}
