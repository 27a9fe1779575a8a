/** Cancels jobs, and runs jobs again. */

import { LongshoreError } from '../base/errors.ts';
import type { CancelResult } from '../contract/store.ts';
import { verified } from '../enqueue/anew.ts';
import type { Client } from '../enqueue/client.ts';
import { loadPayload } from '../enqueue/offload.ts';
import { wrongOption } from '../enqueue/prepare.ts';
import { forEach } from '../kit/parallel.ts';
import { getDeadLetter } from '../kit/records/dead-letter-pages.ts';
import { audited } from './audited.ts';
import type { OperatorHost } from './host.ts';
import { selectionText } from './words.ts';

const atOnce = 16;

export function cancel(host: OperatorHost, ids: readonly string[]): Promise<Record<string, CancelResult>> {
  return audited(host, 'job.cancel', selectionText({ ids }, {}), async (tell) => {
    const results: Record<string, CancelResult> = {};
    let count = 0;
    await forEach(
      new Set(ids),
      async (id) => {
        const result = await host.client.stores.records.cancel(id);
        results[id] = result;
        if (result === 'cancelled' || result === 'cancelling') tell(++count);
      },
      atOnce,
    );
    tell(count);
    return results;
  });
}

/** With an idempotency key of its own: under the old one it would be taken for done. */
export function runAgain(host: OperatorHost, id: string): Promise<string> {
  const { client } = host;
  return audited(host, 'job.run-again', id, async (tell) => {
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
    tell(1, `enqueued as ${enqueued.id}`);
    return enqueued.id;
  });
}

/** The signed text, as a record or a dead letter keeps it. */
async function bodyOf({ stores, backend }: Client, id: string): Promise<string> {
  const kept = await stores.records.body?.(id);
  if (kept) return kept;
  const letters = backend.admin?.deadLetters;
  const letter = letters && (await getDeadLetter(letters, id));
  if (letter) return letter.body;
  throw notKept(id);
}

const notKept = (id: string): LongshoreError =>
  wrongOption(
    `the payload of job ${JSON.stringify(id.slice(0, 128))} to be kept, found none. Define its job with keepPayload: true to keep the payloads of jobs that are done`,
  );
