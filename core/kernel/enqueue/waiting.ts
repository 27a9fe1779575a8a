/** Changes, promotes and removes waiting jobs. Loaded with the first such call. */

import { config, LongshoreError, shown } from '../../base/errors.ts';
import { reportingFailures } from '../../base/failure.ts';
import { hint } from '../../base/nearest.ts';
import { priorityOf } from '../../base/priority.ts';
import type { PendingJobs, WaitingChange, WaitingJob } from '../../contract/admin.ts';
import { alreadyDone, type Envelope } from '../../envelope/envelope.ts';
import type { Job } from '../app/job.ts';
import { keyAfter, resealed, signedEnvelope } from './anew.ts';
import type { JobChange } from './client.ts';
import { loadPayload, storePayloads, type Upload } from './offload.ts';
import { forgetJobs } from './parts.ts';
import { checked, checkJob, scheduleOf, wrongOption } from './prepare.ts';
import type { SendingClient } from './send.ts';
import { nowOf } from './skew.ts';

/** Restores secrets in an edited payload: the person who edited it saw the old one masked. */
type Unmask = (payload: unknown, old: unknown) => unknown;

interface Rewritten {
  readonly envelope: Envelope;
  readonly change: WaitingChange;
}

/** @param job `null` = the job that the message names */
export async function update(
  client: SendingClient,
  job: Job | null,
  id: string,
  change: JobChange<unknown>,
  unmask?: Unmask,
): Promise<boolean> {
  const { app } = client;
  if (job) checkJob(client, job);
  checkChange(change);
  return rewrite(client, id, (envelope) => {
    const its = app.jobs.get(envelope.job);
    if (job && its !== job)
      throw wrongOption(`the id of a job "${job.name}", got the id of a job "${envelope.job}"`);
    if (its) return changed(client, its, envelope, change, unmask);
    throw new LongshoreError(
      'UNKNOWN_JOB',
      `No job "${envelope.job}" is defined here. Change it with an app that has the job.`,
    );
  });
}

export async function promote(client: SendingClient, id: string): Promise<boolean> {
  const { pending, job } = await find(client, id);
  const body = job && (await pending.read(job));
  if (!job || body === null) return false;
  const schedule = scheduleIn(body);
  const now = schedule === null ? 0 : await nowOf(client);
  // Workers do not run a job before the time in its message, so the message must change, too.
  if (schedule !== null && schedule > now)
    return rewrite(client, id, async (envelope) => ({
      envelope: { ...envelope, schedule: now },
      change: { notBefore: null },
    }));
  const [promoted] = await pending.change([job], { notBefore: null });
  if (promoted) await record(client, id, { notBefore: null });
  return promoted!;
}

export async function remove(client: SendingClient, id: string): Promise<boolean> {
  const { pending, job } = await find(client, id);
  if (!job || !(await pending.remove(job))) return false;
  const { app, stores } = client;
  // A separate store does not delete the record: it marks the job as cancelled.
  if (stores.records.writer)
    await reportingFailures(app.events, 'recording a removed job', [id], () => stores.records.cancel(id));
  await forgetJobs(client, [id], 'call');
  return true;
}

const changeNames = { payload: true, delayMs: true, runAt: true, priority: true } satisfies Record<
  keyof JobChange<unknown>,
  true
>;

function checkChange(change: JobChange<unknown>): void {
  const names = Object.keys(changeNames);
  for (const name in change)
    if (!Object.hasOwn(changeNames, name))
      throw new LongshoreError('OPTION', `update() has no option ${shown(name)}.${hint(name, names)}`);
  if (Object.values(change).every((value) => value === undefined))
    throw wrongOption(`at least one of ${names.join(', ')}, got none`);
}

/** The queue that the record of the job names. */
async function find(
  { backend, stores: { records } }: SendingClient,
  id: string,
): Promise<{ readonly pending: PendingJobs; readonly job: WaitingJob | null }> {
  const { pending } = backend;
  if (!pending)
    throw config(
      `Backend "${backend.name}" cannot find a waiting job by its id. Cancel the job, and enqueue another one.`,
    );
  if (records.recordsDisabled)
    throw config(
      `Backend "${backend.name}" keeps no records, so it cannot find a job by its id. Give it a store.`,
    );
  const found = await records.get(id);
  return { pending, job: found && { queue: found.queue, id } };
}

/** Changes the message of a job and signs it again. If another change comes in between, this one is applied on top of it. */
async function rewrite(
  client: SendingClient,
  id: string,
  make: (envelope: Envelope) => Promise<Rewritten>,
): Promise<boolean> {
  const { payloads } = client.stores;
  const { pending, job } = await find(client, id);
  if (!job) return false;
  for (let before: string | null = null; ; ) {
    const expectedBody = await pending.read(job);
    if (expectedBody === null || expectedBody === before) return false;
    before = expectedBody;
    const { envelope, change } = await make(signedEnvelope(client, { ...job, body: expectedBody }, 'remove'));
    const uploads: Upload[] = [];
    const text = resealed(client, envelope, payloads ? uploads : null);
    if (payloads) for (const error of (await storePayloads(payloads, uploads)).values()) throw error;
    const [isChanged] = await pending.change([job], { ...change, ...text, expectedBody });
    if (!isChanged) continue;
    await record(client, id, { ...change, ...text });
    return true;
  }
}

/** Tells a separate record store, which does not see changes of the queue. */
async function record({ app, stores }: SendingClient, id: string, change: WaitingChange): Promise<void> {
  const write = async () => stores.records.writer?.changed?.(id, change);
  await reportingFailures(app.events, 'recording a changed job', [id], write);
}

/** The time in a message, without verifying it. */
function scheduleIn(body: string): number | null {
  try {
    const { schedule } = JSON.parse(body);
    return typeof schedule === 'number' ? schedule : null;
  } catch {
    return null; // a message of another program
  }
}

async function changed(
  client: SendingClient,
  job: Job,
  old: Envelope,
  { payload, priority: givenPriority, ...time }: JobChange<unknown>,
  unmask?: Unmask,
): Promise<Rewritten> {
  const { app, backend, stores } = client;
  let envelope = old;
  let change: WaitingChange = {};
  if (payload !== undefined) {
    const loads = old.claim && (job.keyOf || unmask);
    const before = loads ? await loadPayload(stores, { ...old }) : old.payload;
    const mended = unmask ? unmask(payload, before === alreadyDone ? undefined : before) : payload;
    const valid = await checked(job, mended);
    const idempotencyKey = await keyAfter(job, old, before, valid);
    envelope = { ...envelope, payload: mended, claim: null, idempotencyKey };
  }
  if (givenPriority !== undefined) {
    const priority = priorityOf(givenPriority);
    envelope = { ...envelope, priority };
    change = { priority };
  }
  if (time.delayMs !== undefined || time.runAt !== undefined) {
    const now = await nowOf(client);
    const skewMs = now - app.clock.now();
    const at = scheduleOf(time, now, backend.limits);
    const schedule = at ?? now;
    const expiresAt = job.expiresInMs === null ? envelope.expiresAt : schedule + job.expiresInMs;
    envelope = { ...envelope, schedule, expiresAt };
    change = { ...change, notBefore: at === null ? null : at - skewMs };
  }
  return { envelope, change };
}
