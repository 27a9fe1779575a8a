/** Cancels, promotes, changes and removes jobs, and runs jobs again. */

import { LongshoreError } from '../base/errors.ts';
import type { CancelResult } from '../contract/store.ts';
import { deadLettersOf } from '../kernel/enqueue/admin-of.ts';
import { verified } from '../kernel/enqueue/anew.ts';
import type { Client, JobChange } from '../kernel/enqueue/client.ts';
import { loadPayload } from '../kernel/enqueue/offload.ts';
import { wrongOption } from '../kernel/enqueue/prepare.ts';
import { update as updateJob } from '../kernel/enqueue/waiting.ts';
import { forEach } from '../kit/parallel.ts';
import { getDeadLetter } from '../kit/records/dead-letter-pages.ts';
import { audited } from './audit.ts';

import type { OperatorHost } from './host.ts';
import type { OperatorAction } from './types.ts';
import { unmasked } from './unmask.ts';
import { selectionText } from './words.ts';

const atOnce = 16;

export const cancel = (host: OperatorHost, ids: readonly string[]): Promise<Record<string, CancelResult>> =>
  onEach(
    host,
    'job.cancel',
    ids,
    (id) => host.client.cancel(id),
    (result) => result === 'cancelled' || result === 'cancelling',
  );

export const promote = (host: OperatorHost, ids: readonly string[]): Promise<Record<string, boolean>> =>
  onEach(host, 'job.promote', ids, (id) => host.client.promote(id), Boolean);

export const remove = (host: OperatorHost, ids: readonly string[]): Promise<Record<string, boolean>> =>
  onEach(host, 'job.remove', ids, (id) => host.client.remove(id), Boolean);

function onEach<Result>(
  host: OperatorHost,
  action: OperatorAction,
  ids: readonly string[],
  work: (id: string) => Promise<Result>,
  isDone: (result: Result) => boolean,
): Promise<Record<string, Result>> {
  return audited(host, action, selectionText({ ids }, {}), async (record) => {
    const results: Record<string, Result> = {};
    let count = 0;
    await forEach(
      new Set(ids),
      async (id) => {
        results[id] = await work(id);
        if (isDone(results[id])) record(++count);
      },
      atOnce,
    );
    record(count);
    return results;
  });
}

/** The log names what was changed, and never a payload. */
export function update(host: OperatorHost, id: string, change: JobChange<unknown>): Promise<boolean> {
  return audited(host, 'job.update', id, async (record) => {
    const isDone = await updateJob(host.client, null, id, change, unmasked);
    record(isDone ? 1 : 0, Object.keys(change).join(', '));
    return isDone;
  });
}

/** With an idempotency key of its own: under the old one it would be taken for done. */
export function runAgain(host: OperatorHost, id: string): Promise<string> {
  const { client } = host;
  return audited(host, 'job.run-again', id, async (record) => {
    const body = await bodyOf(client, id);
    const envelope = verified(client.app, body);
    if (envelope.identifier !== id)
      throw new LongshoreError(
        'ENVELOPE',
        `What is kept of job ${id} is signed for job ${envelope.identifier}: it was copied.`,
      );
    const job = client.app.jobs.get(envelope.job);
    if (!job)
      throw new LongshoreError(
        'UNKNOWN_JOB',
        `No job "${envelope.job}" is defined here. Run it again with an app that has it.`,
      );
    const payload = envelope.claim ? await loadPayload(client.stores, envelope) : envelope.payload;
    if (typeof payload === 'symbol') throw notKept(id);
    const { queue, priority, maxRetries, name, context } = envelope;
    const enqueued = await client.enqueue(job, payload, {
      queue,
      priority,
      maxRetries,
      idempotencyKey: `run-again:${client.app.newId()}`,
      ...(name != null && { name }),
      context: context ?? {},
    });
    if (enqueued.duplicate) record(0, `job ${enqueued.id} stands for it`);
    else record(1, `enqueued as ${enqueued.id}`);
    return enqueued.id;
  });
}

/** The signed text, as a record or a dead letter keeps it. */
async function bodyOf(client: Client, id: string): Promise<string> {
  const kept = await client.stores.records.body?.(id);
  if (kept) return kept;
  const letter = client.backend.admin && (await getDeadLetter(deadLettersOf(client), id));
  if (letter) return letter.body;
  throw notKept(id);
}

const notKept = (id: string): LongshoreError =>
  wrongOption(
    `the payload of job ${JSON.stringify(id.slice(0, 128))} to be kept, found none. Define its job with keepPayload: true to keep the payloads of jobs that are done`,
  );
