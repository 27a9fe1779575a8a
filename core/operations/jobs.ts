import { LongshoreError } from '../base/errors.ts';
import { closeBreaker } from '../features/limits/breaker.ts';
import { limitsFor, pauseJob, resumeJob } from '../features/limits/pause.ts';
import { stoppedJobs } from '../features/limits/stopped-jobs.ts';
import type { EnqueuedJob } from '../kernel/app/options.ts';
import { deadLettersOf } from '../kernel/enqueue/admin-of.ts';
import { verified } from '../kernel/enqueue/anew.ts';
import { eachOf, jobsOn } from '../kernel/enqueue/backends.ts';
import type { Client, JobChange } from '../kernel/enqueue/client.ts';
import { loadPayload } from '../kernel/enqueue/offload.ts';
import { wrongOption } from '../kernel/enqueue/prepare.ts';
import { update as updateJob } from '../kernel/enqueue/waiting.ts';
import { getDeadLetter } from '../kit/records/dead-letter-pages.ts';
import { unmasked } from './edit.ts';
import { change, changeEach, look, type Subject } from './operation.ts';
import { cancelled, changed, job, jobChange, pendingJobs } from './resources.ts';

const kind: Subject = {
  noun: 'job',
  parameter: 'name',
  text: 'name of a job of the app',
  homes(client, name) {
    const job = client.app.jobs.get(name);
    return eachOf(client).filter((one) => job && jobsOn(client.app, one.name!).includes(job));
  },
  names: ({ app }) => [...app.jobs.keys()],
  check: (client, name) => void limitsFor(client, name),
};

const waits = 'The job does not wait any more: it runs, has ended or was removed.';

/** The audit entry for an enqueue. */
export const enqueuedEntry = ({ id, duplicate }: Pick<EnqueuedJob, 'id' | 'duplicate'>) =>
  duplicate ? ([0, `job ${id} stands for it`] as const) : ([1, `enqueued as ${id}`] as const);

export const jobs = {
  get: look({
    summary: 'Status, progress and attempts of a job',
    subject: job,
    http: { route: 'GET /jobs/{id}', operationId: 'getJob', description: 'The record' },
    run: (client, id: string) => client.status(id),
  }),
  cancel: changeEach({
    action: 'job.cancel',
    summary: 'Cancel a job',
    subject: job,
    run: (client, id: string) => client.cancel(id),
    http: {
      route: 'DELETE /jobs/{id}',
      operationId: 'cancelJob',
      answer: { shape: cancelled, of: (status, id) => ({ id, status }) },
    },
    done: 'Cancelled.',
    later: 'Its worker is told to abort it, and may finish first.',
    nothing: 'The job has ended: there is nothing to cancel any more.',
  }),
  runAgain: change({
    action: 'job.run-again',
    summary: 'Enqueue a new job with the payload of this one',
    subject: job,
    run: runAgain,
    entry: enqueuedEntry,
    returned: ({ id }) => id,
    done: 'Enqueued again, as a new job.',
  }),
  promote: changeEach({
    action: 'job.promote',
    summary: 'Let a job that is delayed, or waits for its next attempt, run now',
    subject: job,
    run: (client, id: string) => client.promote(id),
    http: {
      route: 'POST /jobs/{id}/promote',
      operationId: 'promoteJob',
      support: pendingJobs,
      answer: { shape: changed, of: (_, id) => ({ id, status: 'promoted' }) },
    },
    done: 'It runs as soon as a worker is free.',
    nothing: waits,
  }),
  update: change({
    action: 'job.update',
    summary: 'Change a job that waits; what is left out stays',
    subject: job,
    run: (client, id: string, change: JobChange<unknown>) => updateJob(client, null, id, change, unmasked),
    http: {
      route: 'PATCH /jobs/{id}',
      operationId: 'changeJob',
      support: pendingJobs,
      byHand: { body: jobChange, answers: { 200: ['Changed', changed] } },
    },
    // Names the changed members, and never a payload.
    entry: (isDone, [, change]) => [isDone ? 1 : 0, Object.keys(change).join(', ')],
    done: 'Changed.',
    nothing: waits,
  }),
  remove: changeEach({
    action: 'job.remove',
    summary: 'Take a job that waits out of the queue, with its record',
    subject: job,
    run: (client, id: string) => client.remove(id),
    http: {
      route: 'POST /jobs/{id}/remove',
      operationId: 'removeJob',
      support: pendingJobs,
      answer: { shape: changed, of: (_, id) => ({ id, status: 'removed' }) },
    },
    done: 'Removed.',
    nothing: waits,
  }),
  pause: change({
    action: 'job.pause',
    summary: 'Let no job of this name begin until it is resumed',
    subject: kind,
    run: (client, name: string) => pauseJob(client, name),
    done: (_, name) => `${name} is paused: running jobs end, and within 5 s no other begins.`,
    already: 'It was paused already.',
  }),
  resume: change({
    action: 'job.resume',
    summary: 'Let the jobs of this name begin again',
    subject: kind,
    run: (client, name: string) => resumeJob(client, name),
    done: (_, name) => `${name} goes on: its jobs that wait come now.`,
    already: 'It was not paused.',
  }),
  closeBreaker: change({
    action: 'job.close-breaker',
    summary: 'Forget the failures of a job, so that all that wait for its breaker run',
    subject: kind,
    run: (client, name: string) => closeBreaker(client, name),
    done: (_, name) => `The failures of ${name} are forgotten: its jobs that wait come now.`,
    already: 'It had no failures.',
  }),
  stopped: look({
    summary: 'Names of jobs that are paused, or whose breaker is open',
    run: async (client) => (await Promise.all(eachOf(client).map((one) => stoppedJobs(one)))).flat(),
  }),
};

/** With an idempotency key of its own: under the old one it would be taken for done. */
async function runAgain(client: Client, id: string): Promise<EnqueuedJob> {
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
  return client.enqueue(job, payload, {
    queue,
    priority,
    maxRetries,
    idempotencyKey: `run-again:${client.app.newId()}`,
    ...(name != null && { name }),
    context: context ?? {},
  });
}

/** The signed text, as a record or a dead letter keeps it. */
async function bodyOf(client: Client, id: string): Promise<string> {
  const kept = await client.stores.records.body(id);
  if (kept) return kept;
  const letter = client.backend.admin && (await getDeadLetter(deadLettersOf(client), id));
  if (letter) return letter.body;
  throw notKept(id);
}

const notKept = (id: string): LongshoreError =>
  wrongOption(
    `the payload of job ${JSON.stringify(id.slice(0, 128))} to be kept, found none. Define its job with keepPayload: true to keep the payloads of jobs that are done`,
  );
