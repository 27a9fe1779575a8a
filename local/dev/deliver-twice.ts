/** A message that is delivered a second time, in whatever way the queue lets it. */

import { readEnvelope } from '../../core/envelope/envelope.ts';
import { messageFactsOf } from '../../core/envelope/facts.ts';
import { writeEnvelope } from '../../core/envelope/write-envelope.ts';
import type { App } from '../../core/kernel/app/app.ts';
import type { FaultyBackend } from './faulty.ts';
import type { RunningAttempt } from './running-attempts.ts';

/** Resolves with what was done, and what will come of it. */
export async function deliverTwice(app: App, queue: FaultyBackend, run: RunningAttempt): Promise<string> {
  const ring = app.keyRing();
  const { lease } = run;
  const first = readEnvelope(lease.body, { ring, now: app.clock.now(), maxBytes: app.maxBodyBytes });
  const { job, priority, context, idempotencyKey } = first;
  const what = `${run.job} ${run.id}`;
  // A sender that tries again makes a message of its own with the same key; without one it can only be the same message.
  const copy =
    idempotencyKey === null
      ? first
      : { ...first, identifier: app.newId(), attempts: 0, schedule: null, issuedAt: app.clock.now() };
  const facts = messageFactsOf(copy);
  const [sent] = await queue.inner.enqueue([
    {
      id: copy.identifier,
      queue: lease.queue,
      job,
      body: copy === first ? lease.body : writeEnvelope(copy, ring),
      priority,
      notBefore: null,
      group: null,
      tenantId: context?.tenantId ?? null,
      ...(facts && { facts }),
    },
  ]);
  if (!sent?.ok) throw sent?.error ?? new Error('The queue has not taken the copy.');
  if (copy !== first)
    return `${what} was sent again as ${copy.identifier} with the same idempotency key: it waits for the first one, and is then skipped.`;
  if (!sent.duplicate)
    return `The message of ${what} was sent again, and the queue took it: the job has no idempotency key, so it runs twice.`;
  queue.loseAck(lease);
  return `The message of ${what} was sent again: the queue knew its id and dropped it. Now the ack of its attempt ${run.attempt} gets lost, so it is delivered again and runs twice.`;
}
