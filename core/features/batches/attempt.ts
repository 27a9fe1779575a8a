/**
 * Counts a child of a batch when it ends for good. The mark comes before the settlement: a child whose mark is there and whose settlement fails
 * runs again, which can happen to every job, and is not counted twice. One that is settled and not marked would be looked for by its record,
 * which may be forgotten by then. What a transaction writes is true when it has committed, so there the mark comes after.
 */

import { steadyNow } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import { reportingFailures } from '../../base/failure.ts';
import { childOf } from '../../envelope/flow-ids.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Attempt, End, Maybe } from '../../kernel/attempt/attempt.ts';
import { keptOf } from '../../kernel/attempt/verdict.ts';
import { markEnded } from './marks.ts';

export async function markEnd(it: Attempt, end: End, next: (end: End) => Maybe<boolean>): Promise<boolean> {
  if (end.verdict.verb !== 'ack' && end.verdict.verb !== 'abandon') return next(end);
  const isOurs = it.run.tx === null && steadyNow(it.app.clock) < it.run.expiresAt;
  if (isOurs && !(await mark(it, end))) expectRecord(it, end);
  const settled = await next(end);
  if (settled && !isOurs) await mark(it, end);
  return settled;
}

/** A child that is not marked is found by its record. Where none will be written it is not settled, and comes back when its lease is over. */
function expectRecord(it: Attempt, { verdict }: End): void {
  const { run, envelope, ports } = it;
  const { records } = ports.client.stores;
  const { keepMs } = keptOf(it, verdict.verb === 'abandon' ? verdict.reason : null);
  if (records.recordsDisabled || keepMs === 0) throw unmarked(envelope!.identifier);
  if (records.writer) run.needsRecord = unmarked(envelope!.identifier);
}

const unmarked = (id: string): LongshoreError =>
  new LongshoreError(
    'BACKEND',
    `The end of job ${id} could not be written, and its batch would wait for it for ever. It is not settled, and comes back when its lease is over.`,
  );

/** Resolves with whether it is written down. */
async function mark(it: Attempt, { verdict }: End): Promise<boolean> {
  const id = it.envelope!.identifier;
  const child = childOf(id);
  if (!child) return true;
  const { app, ports } = it;
  const end = { ...child, failed: verdict.verb === 'abandon' };
  const write = () => answered(it, 'The store of batches', markEnded(ports.client, end));
  const marked = await reportingFailures(app.events, 'counting a child of a batch', [id], write, 'batch');
  return marked !== null;
}
