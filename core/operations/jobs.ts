import { type ErrorCode, LongshoreError } from '../base/errors.ts';
import { backendError } from '../base/failure.ts';
import type { JobRecord, RecordFilter } from '../contract/store.ts';
import { closeBreaker } from '../features/limits/breaker.ts';
import { limitsFor, pauseJob, resumeJob } from '../features/limits/pause.ts';
import { stoppedJobs } from '../features/limits/stopped-jobs.ts';
import { sleepersOf } from '../features/steps/show.ts';
import type { Job } from '../kernel/app/job.ts';
import type { EnqueuedJob } from '../kernel/app/options.ts';
import { deadLettersOf } from '../kernel/enqueue/admin-of.ts';
import { verified } from '../kernel/enqueue/anew.ts';
import { eachOf, jobsOn } from '../kernel/enqueue/backends.ts';
import type { Client, JobChange, ResultOptions } from '../kernel/enqueue/client.ts';
import { loadPayload } from '../kernel/enqueue/offload.ts';
import { wrongOption } from '../kernel/enqueue/prepare.ts';
import { update as updateJob } from '../kernel/enqueue/waiting.ts';
import { believed } from '../kit/records/believe.ts';
import { getDeadLetter } from '../kit/records/dead-letter-pages.ts';
import { askEach, joined, keepersOf, type OfOne, orFirst } from '../routing/each.ts';
import { newestOf, type PageRequest } from '../routing/pages.ts';
import { unmasked } from './edit.ts';
import { change, changeEach, look, type Subject } from './operation.ts';
import { cancelled, changed, job, jobChange, pendingJobs, result, unended } from './resources.ts';

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

/** Errors of `client.result` after which the record has the answer. */
const tellsEnd: readonly ErrorCode[] = ['HANDLER', 'CANCELLED', 'EXPIRED', 'TIMEOUT', 'NOT_FOUND'];

const waits = 'The job is no longer waiting: it runs, has ended or was removed.';

/** The audit entry for an enqueue. */
export const enqueuedEntry = ({ id, duplicate }: Pick<EnqueuedJob, 'id' | 'duplicate'>) =>
  duplicate ? ([0, `job ${id} is already active`] as const) : ([1, `enqueued as ${id}`] as const);

export const jobs = {
  list: look({
    summary: 'Jobs, newest first',
    async run(client, filter: RecordFilter = {}, page?: PageRequest) {
      const keepers = keepersOf(eachOf(client), ({ stores: { records } }) =>
        records.recordsDisabled ? undefined : records,
      );
      const pageOf = async (one: Client, asked: PageRequest & { readonly max: number }) => {
        const { records, next } = await one.stores.records.page({ ...filter, ...asked });
        return { rows: records.map((record) => believed(one.app, record)), next };
      };
      const newestFirst = ({ createdAt }: JobRecord) => createdAt;
      const { rows, ...rest } = await newestOf(orFirst(client, keepers), page ?? {}, pageOf, newestFirst);
      const sleeps = await sleepsOf(keepers, rows);
      return { jobs: rows.map((job) => ({ ...job, sleeps: sleeps.get(job.id) ?? null })), ...rest };
    },
  }),
  get: look({
    summary: 'Status, progress and attempts of a job',
    subject: job,
    http: { route: 'GET /jobs/{id}', operationId: 'getJob', description: 'The record' },
    run: (client, id: string) => client.status(id),
  }),
  result: look({
    summary: 'Wait for the end of a job',
    subject: job,
    async run(client, id: string, { timeoutMs = 0, signal }: Partial<ResultOptions> = {}) {
      const record = await client.status(id);
      if (record === null || record.finishedAt !== null || timeoutMs === 0) return record;
      const options = { timeoutMs, ...(signal && { signal }) };
      await client.result({ name: record.job } as Job, id, options).catch((error) => {
        const isTold = error instanceof LongshoreError && tellsEnd.includes(error.code);
        if (!isTold && !signal?.aborted) throw backendError('waiting for a job', error);
      });
      return client.status(id);
    },
    http: {
      route: 'GET /jobs/{id}/result',
      operationId: 'getResult',
      query: {
        timeoutMs: {
          kind: 'integer',
          least: 0,
          text: 'How long to wait; without it the answer comes at once',
        },
      },
      description: 'It has ended, in the way that `status` says',
      answer: { shape: result },
      pending: {
        description: 'It has not ended in time, and goes on. Ask again',
        shape: unended,
        is: (record) => record?.finishedAt === null,
        of: (record, basePath) => ({ ...record, statusUrl: `${basePath}/jobs/${record?.id}` }),
      },
    },
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
    later: 'The running job is asked to abort, and may finish first.',
    nothing: 'The job has ended, so it cannot be cancelled.',
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
    summary: 'Run a delayed job, or one that waits for its next attempt, now',
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
    summary: 'Change a waiting job; members that are left out stay',
    subject: job,
    run: (client, id: string, change: JobChange<unknown>) => updateJob(client, null, id, change, unmasked),
    http: {
      route: 'PATCH /jobs/{id}',
      operationId: 'changeJob',
      support: pendingJobs,
      body: jobChange,
      answer: { shape: changed, of: (_, id) => ({ id, status: 'changed' }) },
    },
    // Names the changed members, and never a payload.
    entry: (isDone, [, change]) => [isDone ? 1 : 0, Object.keys(change).join(', ')],
    done: 'Changed.',
    nothing: waits,
  }),
  remove: changeEach({
    action: 'job.remove',
    summary: 'Remove a waiting job and its record',
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
    summary: 'Pause all jobs of this name, until they are resumed',
    subject: kind,
    run: (client, name: string) => pauseJob(client, name),
    done: (_, name) => `${name} is paused: running jobs end, and no other starts after 5 s.`,
    already: 'It was already paused.',
  }),
  resume: change({
    action: 'job.resume',
    summary: 'Resume all jobs of this name',
    subject: kind,
    run: (client, name: string) => resumeJob(client, name),
    done: (_, name) => `${name} is resumed: its waiting jobs are ready.`,
    already: 'It was not paused.',
  }),
  closeBreaker: change({
    action: 'job.close-breaker',
    summary: 'Close the breaker of a job, so that its waiting jobs run',
    subject: kind,
    run: (client, name: string) => closeBreaker(client, name),
    done: (_, name) => `The breaker of ${name} is closed: its waiting jobs are ready.`,
    already: 'It had no failures.',
  }),
  stopped: look({
    summary: 'Names of jobs that are paused, or whose breaker is open',
    async run(client) {
      const { answers, ...missed } = await askEach(eachOf(client), (one) => stoppedJobs(one));
      return { stopped: joined({ answers }), ...missed };
    },
  }),
};

/** The waits of sleeping jobs, by their ids. A list is worth showing without them. */
async function sleepsOf(
  keepers: readonly Client[],
  jobs: readonly OfOne<JobRecord>[],
): Promise<ReadonlyMap<string, string>> {
  const found = keepers.map(async ({ app, name, stores }) => {
    const own = jobs.filter(({ backend }) => backend === name);
    return sleepersOf(stores, own, app.clock.now()).catch(() => new Map<string, string>());
  });
  return new Map((await Promise.all(found)).flatMap((some) => [...some]));
}

/** With an idempotency key of its own: under the old one it would be taken for done. */
async function runAgain(client: Client, id: string): Promise<EnqueuedJob> {
  const body = await bodyOf(client, id);
  const envelope = verified(client.app, body);
  if (envelope.identifier !== id)
    throw new LongshoreError(
      'ENVELOPE',
      `The stored payload of job ${id} is signed for job ${envelope.identifier}: it was copied.`,
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
    `a stored payload of job ${JSON.stringify(id.slice(0, 128))}, found none. Define the job with keepPayload: true to keep the payloads of completed jobs`,
  );
