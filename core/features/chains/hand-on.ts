/**
 * Enqueues the next link with the result of this one, before the settlement. If the settlement then fails, the link runs again and finds the
 * next link enqueued. In the other order a crash could stop the chain. If the queue has transactions, the next link and the ack are one
 * transaction.
 */

import { type ErrorCode, LongshoreError } from '../../base/errors.ts';
import type { ChainMember } from '../../envelope/chain.ts';
import { childOf, nextOf } from '../../envelope/flow-ids.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Admitted, Maybe, Verdict } from '../../kernel/attempt/attempt.ts';
import { abortReason } from '../../kernel/attempt/run.ts';
import { afterFailure, dead, lostLease, rejected, unknownJob } from '../../kernel/attempt/verdict.ts';
import { complete } from '../batches/complete.ts';
import { keepResult, takeBack } from '../batches/results.ts';
import { startLink } from '../batches/start-link.ts';

/** Checked before the job runs, so that its effect is not wasted or repeated. `null` = the job of the next link is known here. */
function nextIsUnknown(it: Admitted): Verdict | null {
  const next = it.envelope.results ? null : nextLink(it);
  const jobs = next ? [next.links[next.link - 1]!].flat() : [];
  const missing = jobs.find(({ job }) => !it.app.jobs.has(job));
  return missing ? unknownJob(it, missing.job) : null;
}

export async function handOn(it: Admitted, run: () => Maybe<Verdict>): Promise<Verdict> {
  const unknown = nextIsUnknown(it);
  if (unknown) return unknown;
  const verdict = await run();
  return verdict.verb === 'ack' ? handOnResult(it, verdict) : verdict;
}

async function handOnResult(it: Admitted, verdict: Verdict & { verb: 'ack' }): Promise<Verdict> {
  const { run, envelope } = it;
  const next = nextLink(it);
  if (!envelope.results && !next) return verdict;
  // A job that was cancelled while it ran, but has completed, does not continue its chain either.
  const over = lostLease(it) ?? (run.cause === 'cancelled' ? cancelled() : null);
  if (over) return undo(it, over);
  try {
    if (verdict.problem !== undefined)
      throw new LongshoreError('LIMIT', `it cannot be kept: ${verdict.problem}`);
    if (envelope.results) await keep(it, verdict.output);
    else await startNext(it, next!, verdict.output);
    return verdict;
  } catch (cause) {
    const failure = failureOf(it, cause);
    return undo(it, failure);
  }
}

const nextLink = ({ envelope }: Admitted): ChainMember | null =>
  envelope.chain ? nextOf(envelope.chain) : null;

const cancelled = (): Verdict => rejected('cancelled', abortReason('cancelled'));

/** Rolls back all writes of this attempt's transaction. */
async function undo(it: Admitted, verdict: Verdict): Promise<Verdict> {
  await it.run.tx?.rollback();
  return verdict;
}

async function keep(it: Admitted, output: string | null): Promise<void> {
  const { ports, envelope } = it;
  checkShare(it, output);
  const { batch, number } = childOf(envelope.identifier)!;
  await answered(it, 'The step store', keepResult(ports.client, batch, number, output ?? 'null'));
  await answered(it, 'The store of batches', takeBack(ports.client, batch, number));
}

/**
 * Without a payload store the results of several jobs must fit into one message. Each job is checked against its share, so that one that is too
 * large fails itself.
 */
function checkShare({ app, envelope: { chain }, ports }: Admitted, output: string | null): void {
  const { backend, stores } = ports.client;
  if (!chain || !nextOf(chain) || stores.payloads || output === null) return;
  const jobs = [chain.links[chain.link - 1]!].flat().length;
  const mostBytes = Math.min(app.maxBodyBytes, backend.limits.maxBodyBytes);
  const share = Math.floor((mostBytes - Buffer.byteLength(JSON.stringify(chain)) - besidesBytes) / jobs);
  const bytes = Buffer.byteLength(output);
  if (bytes <= share) return;
  throw new LongshoreError(
    'LIMIT',
    `it has ${bytes} bytes, and at most ${share} are the share of each of ${jobs} jobs in one message of this queue. Return an id and keep the data elsewhere, or give connect() a store with payloads.`,
  );
}

/** Reserved for the members of an envelope other than payload and chain. */
const besidesBytes = 4_096;

async function startNext(it: Admitted, next: ChainMember, output: string | null): Promise<void> {
  const { run, ports, envelope } = it;
  const { client } = ports;
  const { backend } = client;
  if (backend.begin && backend.enqueueIn) run.tx ??= await answered(it, 'The database', backend.begin());
  const payload = output === null ? null : JSON.parse(output);
  const starting = startLink(client, next, payload, envelope.context, run.tx?.sql);
  const { complete: batch } = await answered(it, 'The queue', starting);
  if (batch !== null) await complete(client, batch);
}

/** Errors that a retry of the handler cannot change: the job becomes a dead letter, which an operator can edit. */
const final: readonly ErrorCode[] = ['PAYLOAD', 'LIMIT', 'OPTION', 'CONFIG', 'UNKNOWN_JOB'];

function failureOf(it: Admitted, cause: unknown): Verdict {
  const isKnown = cause instanceof LongshoreError;
  if (isKnown && cause.code === 'QUEUE_FULL') return afterFailure(it, cause);
  if (!isKnown || !final.includes(cause.code)) {
    // Not settled, so the job comes back when its lease ends.
    void it.run.tx?.rollback();
    throw cause;
  }
  const { chain, identifier } = it.envelope;
  const next = chain ? [chain.links[chain.link] ?? []].flat().map(({ job }) => `"${job}"`) : [];
  const to = next.length > 0 ? `job ${next.join(' and ')}, the next link of chain ${chain!.id}` : 'its batch';
  const message = `Job "${it.job.name}" has succeeded, but what it returned cannot be handed on to ${to}: ${cause.message}`;
  return dead('permanent', new LongshoreError(cause.code, `${message} (job ${identifier})`, { cause }));
}
