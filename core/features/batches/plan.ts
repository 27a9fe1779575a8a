/** The plan of a batch: its callbacks at the end. */

import { LongshoreError, shown } from '../../base/errors.ts';
import type { BatchState } from '../../contract/derived/batches.ts';
import type { ChainMember } from '../../envelope/chain.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import type { EndName } from '../../envelope/flow-ids.ts';
import type { App } from '../../kernel/app/app.ts';
import { signed, unverified, verified } from './sign.ts';

export interface Plan {
  readonly name: string;
  /** Names of jobs. */
  readonly calls: Readonly<Partial<Record<EndName, string>>>;
  readonly allowFailures: number | string;
  readonly context: JobContext | null;
  /** Keeps the results of the children: `until` the callback has run, or for good. */
  readonly results?: 'until' | 'kept';
  /** Further members of the payload of `onResults`. */
  readonly with?: Readonly<Record<string, unknown>>;
  /** Set for a link of a chain: the next link receives the results. */
  readonly chain?: ChainMember;
}

const subjectOf = (id: string): string => `batch ${id}`;

export const planText = (app: App, id: string, plan: Plan): string =>
  signed(app, subjectOf(id), JSON.stringify(plan));

/** Throws `UNKNOWN_KEY` or `SIGNATURE`. */
export const verifiedPlan = (app: App, { id, plan }: BatchState): Plan =>
  JSON.parse(verified(app, subjectOf(id), plan)) as Plan;

/** For people; not verified. */
export const planOf = ({ plan }: BatchState): Plan => JSON.parse(unverified(plan)) as Plan;

/** How many of `total` children may fail. */
export function mostFailures(allowFailures: number | string, total: number): number {
  return typeof allowFailures === 'number'
    ? allowFailures
    : Math.floor((total * Number(allowFailures.slice(0, -1))) / 100);
}

export function checkFailures(allowFailures: unknown): void {
  const isCount = Number.isSafeInteger(allowFailures) && (allowFailures as number) >= 0;
  const percent =
    typeof allowFailures === 'string' ? /^(\d+(?:\.\d+)?)%$/.exec(allowFailures)?.[1] : undefined;
  if (isCount || (percent !== undefined && Number(percent) <= 100)) return;
  throw new LongshoreError(
    'OPTION',
    `Expected allowFailures of a batch to be an integer of 0 or more, or a share like '5%', got ${shown(allowFailures)}.`,
  );
}
