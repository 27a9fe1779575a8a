/** Passes the results of all children of a batch to one job: `onResults`, or the next link of a chain. */

import { type ErrorCode, LongshoreError } from '../../base/errors.ts';
import { tellWarning } from '../../base/events.ts';
import type { BatchState } from '../../contract/derived/batches.ts';
import { nextOf } from '../../envelope/flow-ids.ts';
import type { App } from '../../kernel/app/app.ts';
import { type CallingClient, enqueueCalls } from './calls.ts';
import type { Plan } from './plan.ts';
import { readResults } from './results.ts';
import { startLink } from './start-link.ts';

export interface Handed {
  /** `true` = the results can never be passed on. */
  readonly failed: boolean;
  /** Removes the results; a later call cannot use them. */
  readonly remove?: () => Promise<void>;
  /** The batch of the next link, if all its jobs have already ended. */
  readonly complete?: string | null;
}

/** Errors that a retry would not change. */
const final: readonly ErrorCode[] = ['LIMIT', 'SIGNATURE'];

/** Does nothing if a child has failed. Throws errors that a retry may solve. */
export async function handResults(client: CallingClient, state: BatchState, plan: Plan): Promise<Handed> {
  if (state.failed > 0 || state.cancelledAt !== null) return { failed: false };
  try {
    const { values, remove } = await readResults(client, state.id, state.sent);
    const missing = values.indexOf(undefined);
    if (missing >= 0)
      throw new LongshoreError(
        'LIMIT',
        `nothing is kept of what child ${missing} (counted from 0) has returned`,
      );
    const next = await hand(client, values).catch((error) => {
      if (!(error instanceof LongshoreError) || error.code !== 'PAYLOAD') throw error;
      // It is still enqueued and becomes a dead letter with the reason, so that an operator can see and correct it.
      return hand(takingAnything(client), values);
    });
    return { failed: false, remove, complete: next };
  } catch (error) {
    if (!(error instanceof LongshoreError) || !final.includes(error.code)) throw error;
    const to = plan.chain ? `the next link of chain ${plan.chain.id}` : `its job "${plan.calls.onResults}"`;
    tellWarning(
      client.app.events,
      client.backend.name,
      `All children of batch ${state.id} (${plan.name}) have succeeded, but their results cannot be passed to ${to}: ${error.message}`,
    );
    return { failed: true };
  }

  async function hand(to: CallingClient, results: readonly unknown[]): Promise<string | null> {
    if (!plan.chain) {
      const payload = { ...plan.with, batchId: state.id, name: plan.name, results };
      await enqueueCalls(to, ['onResults'], plan, state.id, state.round, payload);
      return null;
    }
    const next = nextOf(plan.chain);
    return next && (await startLink(to, next, results, plan.context)).complete;
  }
}

const anything = { version: 1, vendor: 'longshore', validate: (value: unknown) => ({ value }) } as const;

/** The same client, but no schema of a job refuses a payload. */
function takingAnything(client: CallingClient): CallingClient {
  const jobs: App['jobs'] = new Map(
    [...client.app.jobs].map(([name, job]) => [
      name,
      { ...job, schema: { '~standard': anything }, keyOf: null, limits: null },
    ]),
  );
  return { ...client, app: { ...client.app, jobs } };
}
