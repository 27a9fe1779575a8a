import { masked } from '../../../base/mask.ts';
import type { JobRecord } from '../../../contract/store.ts';
import { childOf } from '../../../envelope/flow-ids.ts';
import { endOf } from '../../../features/batches/roles.ts';
import { batchRoleOf } from '../../../features/batches/show.ts';
import { onlyAWorker, whyWaits } from '../../../features/limits/explain.ts';
import { stoppedJobs } from '../../../features/limits/stopped-jobs.ts';
import { stepsOf } from '../../../features/steps/show.ts';
import type { StoppedJob } from '../../../kernel/app/breaker.ts';
import { deadLettersOf } from '../../../kernel/enqueue/admin-of.ts';
import { eachOf } from '../../../kernel/enqueue/backends.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import { believed } from '../../../kit/records/believe.ts';
import { runsOf, statuses } from '../../../kit/records/partitions.ts';
import { type StoredPayload, payloadOf as shownPayload } from '../../../kit/records/payload.ts';
import { goneAfterMs, runnerOf } from '../../../kit/worker-state.ts';
import { keeperOf } from '../../../operations/resources.ts';
import type { ListedJob } from '../../../operations/types.ts';
import type { Done, JobDetail, JobItem, JobList, OfOne, Unavailable } from '../api.ts';
import type { Run } from '../call.ts';
import {
  missing,
  moment,
  oneOf,
  pageQuery,
  queryOf,
  sentPayload,
  text,
  unavailable,
  type Whole,
  wholeQuery,
} from './query.ts';

const filter = {
  queue: text,
  job: text,
  status: oneOf(statuses),
  tenantId: text,
  idempotencyKey: text,
  schedule: text,
  idPrefix: text,
  createdFrom: moment,
  createdBefore: moment,
  worker: text,
  error: text,
  ...pageQuery,
};

export const listJobs: Run = async (endpoint, { url, visitor }) => {
  const { max = 50, after, ...asked } = queryOf(url, filter);
  const { client } = endpoint;
  if (eachOf(client).every(({ stores }) => stores.records.recordsDisabled)) return noRecords(client);
  const operator = await endpoint.operatorFor(visitor);
  const { jobs, ...rest } = await operator.jobs.list(asked, { max, ...(after !== undefined && { after }) });
  return { jobs: jobs.map(itemOf), ...rest } satisfies JobList;
};

function itemOf(job: OfOne<ListedJob>): OfOne<JobItem> {
  const { attempts, output: _, ...record } = job;
  return { ...record, runs: runsOf(job), worker: attempts.at(-1)?.worker ?? null };
}

export const showJob: Run = async (endpoint, { url, parameter: id }) => {
  const asked = queryOf(url, wholeQuery);
  const client = await keeperOf(endpoint.client, id);
  const { stores } = client;
  if (stores.records.recordsDisabled) return noRecords(client);
  const record = believed(client.app, await stores.records.get(id));
  if (!record) throw missing('job', id);
  const [payload, runningOn, dead, waits, stopped, { steps, problem }, batch] = await Promise.all([
    payloadOf(client, id, asked),
    workerOf(client, record),
    isDead(client, record),
    whyWaits(client, record),
    whatStops(client, record),
    stepsOf(stores, id, client.app.clock.now()),
    batchOf(client, id),
  ]);
  return {
    record: withoutSecrets(record),
    payload,
    runningOn,
    dead,
    waits,
    stopped,
    steps,
    stepsProblem: problem,
    batch,
    changeable: client.backend.pending !== undefined,
  } satisfies JobDetail;
};

/** Masks outputs. Stores mask payloads and log lines, but keep outputs as they are, also in each attempt. */
function withoutSecrets(record: JobRecord): JobRecord {
  const attempts = record.attempts.map((report) => ({
    ...report,
    output: report.output && JSON.stringify(masked(parsed(report.output))),
  }));
  return { ...record, attempts, output: masked(record.output) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return '[unreadable]';
  }
}

async function payloadOf({ stores }: Client, id: string, asked: Whole): Promise<StoredPayload | Unavailable> {
  const payload = shownPayload(await stores.records.body(id));
  if (!payload)
    return unavailable(
      'The payload of this job was not kept. Define the job with keepPayload: true to keep future payloads.',
    );
  return sentPayload(payload, asked);
}

async function workerOf({ app, stores }: Client, { id, status }: JobRecord): Promise<string | null> {
  if (status !== 'processing') return null;
  const beats = await stores.workers.list(app.clock.now() - goneAfterMs);
  return runnerOf(beats, id)?.beat.id ?? null;
}

/** For a waiting job: a pause or an open breaker, which an operator can end. */
async function whatStops(client: Client, { job, status }: JobRecord): Promise<StoppedJob[]> {
  const waits = status === 'pending' || status === 'retrying';
  return waits && client.app.jobs.has(job) ? stoppedJobs(client, job) : [];
}

async function batchOf(client: Client, id: string): Promise<JobDetail['batch']> {
  if (!childOf(id) && !endOf(id)) return null;
  return batchRoleOf(client, id);
}

/** If the broker cannot find a dead letter by id, the status in the record decides. */
async function isDead(client: Client, { id, status }: JobRecord): Promise<boolean> {
  if (!['failed', 'expired'].includes(status) || !client.backend.admin) return false;
  const deadLetters = deadLettersOf(client);
  return deadLetters.get ? (await deadLetters.get(id)) !== null : true;
}

export const noRecords = ({ backend }: Client): Unavailable =>
  unavailable(
    `Backend "${backend.name}" keeps no records of jobs: give the dashboard and the workers a store, for example sqliteStore().`,
  );

/** A promoted job may still wait for something else: the message says so. */
export async function whatElseWaits(asked: Client, id: string): Promise<Partial<Done>> {
  const client = await keeperOf(asked, id);
  const record = await client.stores.records.get(id);
  const waits = record ? await whyWaits(client, record) : [];
  const others = waits.filter((why) => why !== onlyAWorker);
  if (others.length === 0) return {};
  return { message: `Its delay has ended. It may still wait: ${others.join('; ')}.` };
}
