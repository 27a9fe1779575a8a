/** Enqueues one link of a chain. A call may be repeated: ids are derived from the chain, so nothing is enqueued twice. */

import { LongshoreError } from '../../base/errors.ts';
import type { BatchState } from '../../contract/derived/batches.ts';
import type { SendResult, SqlTransaction } from '../../contract/queue.ts';
import type { ChainedJob, ChainMember } from '../../envelope/chain.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import { childId, linkId } from '../../envelope/flow-ids.ts';
import { enqueueEach } from '../../kernel/enqueue/enqueue.ts';
import { prepare } from '../../kernel/enqueue/prepare.ts';
import type { SendingClient } from '../../kernel/enqueue/send.ts';
import { planText } from './plan.ts';

export interface StartedLink {
  /** `true` = all its jobs were enqueued before. */
  readonly duplicate: boolean;
  /** The batch of a link with several jobs, if all of them have already ended. */
  readonly complete: string | null;
}

/**
 * Throws if one of its jobs cannot be enqueued.
 *
 * @param chain names the link
 */
export async function startLink(
  client: SendingClient,
  chain: ChainMember,
  payload: unknown,
  context: JobContext | null,
  tx?: SqlTransaction,
): Promise<StartedLink> {
  const jobs = chain.links[chain.link - 1]!;
  const id = linkId(chain.id, chain.link);
  if (Array.isArray(jobs)) return startAll(client, chain, id, jobs, payload, context, tx);
  const [result] = await send(client, [[id, jobs as ChainedJob]], { chain }, payload, context, tx);
  return { duplicate: (result as SendResult & { ok: true }).duplicate, complete: null };
}

/**
 * Jobs that run at the same time form a batch. After a crash before the batch is sealed, the next attempt starts the link again. After a later
 * crash the ids of the jobs prevent duplicates.
 */
async function startAll(
  client: SendingClient,
  chain: ChainMember,
  id: string,
  jobs: readonly ChainedJob[],
  payload: unknown,
  context: JobContext | null,
  tx: SqlTransaction | undefined,
): Promise<StartedLink> {
  const { app, stores } = client;
  const store = stores.batches!;
  const sender = app.newId();
  const plan = { name: id, calls: {}, allowFailures: 0, context, chain };
  const state = await store.open({ id, plan: planText(app, id, plan), sender, planned: 0 });
  const count = jobs.length;
  if (!state.sealed) await store.sent(id, sender, { sent: 0, planned: count, sealed: false });
  else await takeBack(client, state);
  const open = await store.unended(id, 0, count);
  const members = { chain, results: true } as const;
  const children = open.map((number) => [childId(id, number), jobs[number]!] as const);
  const results = await send(client, children, members, payload, context, tx);
  const sealed = state.sealed
    ? await store.get(id)
    : await store.sent(id, sender, { sent: count, planned: count, sealed: true });
  return {
    duplicate: results.every((result) => result.ok && result.duplicate),
    complete: sealed !== null && sealed.completedAt !== null && !sealed.called ? id : null,
  };
}

/** Takes back jobs that never reached the queue and were therefore counted as failed. */
async function takeBack({ stores }: SendingClient, { id, sent, failed }: BatchState): Promise<void> {
  if (failed === 0) return;
  const numbers = await stores.batches!.failed(id, 0, sent);
  const records = await Promise.all(numbers.map((number) => stores.records.get(childId(id, number))));
  const missing = numbers.filter((_, i) => records[i] === null);
  if (missing.length > 0) await stores.batches!.reopen(id, missing);
}

async function send(
  client: SendingClient,
  jobs: readonly (readonly [id: string, ChainedJob])[],
  members: { readonly chain: ChainMember; readonly results?: true },
  payload: unknown,
  context: JobContext | null,
  tx: SqlTransaction | undefined,
): Promise<SendResult[]> {
  const results = await enqueueEach(
    client,
    { job: jobs.length === 1 ? jobs[0]![1].job : null, queue: null, count: jobs.length },
    context ?? {},
    (i, uploads) => {
      const [id, { job: name, ...options }] = jobs[i]!;
      const job = client.app.jobs.get(name);
      if (!job)
        throw new LongshoreError('UNKNOWN_JOB', `No job "${name}" is defined here. Deploy it, then retry.`);
      // For queues that would run two copies of an id, and for a link that had ended before it was sent again. A transaction needs no key.
      const key = tx === undefined && !job.keyOf ? { idempotencyKey: id } : {};
      return prepare(client, { job, payload, options: { ...options, ...key }, uploads, id, members });
    },
    tx,
  );
  for (const result of results) if (!result.ok) throw result.error;
  return results;
}
