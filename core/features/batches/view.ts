import type { BatchState } from '../../contract/derived/batches.ts';
import type { Batch } from '../../kernel/app/batch.ts';
import { outcomeOf } from './outcome.ts';
import { planOf } from './plan.ts';

/** The public view of a batch. @param now epoch ms */
export function viewOf(state: BatchState, now: number): Batch {
  const { id, sent, sealed, succeeded, failed, round, createdAt, changedAt, completedAt, cancelledAt } =
    state;
  const ended = succeeded + failed;
  const total = sealed ? sent : null;
  const tookMs = (completedAt ?? now) - createdAt;
  const perSecond = ended > 0 && round === 1 && tookMs > 0 ? (ended / tookMs) * 1_000 : null;
  const rest = total === null ? null : total - ended;
  const { name, context, allowFailures } = planOf(state);
  return {
    id,
    name,
    tenantId: context?.tenantId ?? null,
    state: stateOf(state),
    outcome: completedAt === null ? null : outcomeOf(allowFailures, state),
    total,
    sent,
    succeeded,
    failed,
    percent: total === null ? null : total === 0 ? 100 : Math.floor((ended / total) * 1_000) / 10,
    perSecond,
    etaMs:
      rest === 0 ? 0 : rest === null || perSecond === null ? null : Math.ceil((rest / perSecond) * 1_000),
    createdAt,
    changedAt,
    completedAt,
  };

  function stateOf({ sealed }: BatchState): Batch['state'] {
    if (cancelledAt !== null) return completedAt === null ? 'cancelling' : 'cancelled';
    if (!sealed) return 'sending';
    return completedAt === null ? 'running' : 'complete';
  }
}
