/** Jobs and schedules as HTTP callers see them. */

import { isName, namePattern } from '../base/checks.ts';
import type { JobRecord } from '../contract/store.ts';
import { scheduleNamed } from '../features/schedules/cursor.ts';
import type { StoredScheduleInfo } from '../kernel/app/stored-schedule.ts';
import { eachOf, keepsSchedules } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { finalStatuses, statuses } from '../kit/records/partitions.ts';
import { firstOf } from '../routing/first-of.ts';
import type { Resource, Support } from './operation.ts';
import { count, list, moment, named, object, orNull, priority, text } from './shapes.ts';

const number = { type: 'number' };
const error = object({ code: text, message: text, stack: text }, ['stack']);
const attempt = object({
  attempt: count,
  startedAt: moment,
  endedAt: moment,
  outcome: text,
  error: orNull(error),
});
const facts = { output: {}, reason: orNull(text), error: orNull(text) };

export const job: Resource<JobRecord> = {
  noun: 'job',
  parameter: 'id',
  text: 'id of a job',
  homes: async (client, id) => [{ ...(await keeperOf(client, id)), enqueue: client.enqueue }],
  find: async (client, id) => (namePattern.test(id) ? client.status(id) : null),
  watch: (client, id, signal) => client.watch(id, { signal }),
  hasEnded: ({ finishedAt }) => finishedAt !== null,
  owners: ({ job, tenantId }) => [{ job, tenantId }],
  shape: named(
    'Job',
    object(
      {
        id: text,
        queue: text,
        job: text,
        tenantId: orNull(text),
        name: orNull(text),
        idempotencyKey: orNull(text),
        schedule: orNull(text),
        requestId: orNull(text),
        traceparent: orNull(text),
        chain: object({ id: text, link: count, links: list({}) }),
        status: { enum: statuses },
        priority: count,
        createdAt: moment,
        runAt: moment,
        finishedAt: orNull(moment),
        progress: orNull(object({ done: number, total: orNull(number), message: orNull(text), at: moment })),
        maxAttempts: orNull(count),
        attempts: list(attempt),
        ...facts,
      },
      ['chain'],
    ),
  ),
  view: (record, { stacks }) => {
    if (stacks) return record;
    const attempts = record.attempts.map(({ error, ...rest }) => ({
      ...rest,
      error: error && { code: error.code, message: error.message },
    }));
    return { ...record, attempts };
  },
  origin: 'it came with the 202',
};

export const changed = named(
  'Done',
  object({ id: text, status: { enum: ['changed', 'promoted', 'removed'] } }),
);
export const jobChange = named('Change', {
  ...object({ payload: {}, delayMs: count, runAt: moment, priority }, [
    'payload',
    'delayMs',
    'runAt',
    'priority',
  ]),
  additionalProperties: false,
  minProperties: 1,
});
export const cancelled = named(
  'Cancelled',
  object({ id: text, status: { enum: ['cancelled', 'cancelling'] } }),
);
export const result = named('Result', object({ id: text, status: { enum: finalStatuses }, ...facts }));
const open = statuses.filter((status) => !finalStatuses.includes(status as never));
export const unended = named('Unended', object({ id: text, status: { enum: open }, statusUrl: text }));

/** The client of the backend that has the job. The given client if there is none. Throws if a backend that may have it does not answer. */
export async function keeperOf(client: Client, id: string): Promise<Client> {
  if (!client.backends) return client;
  const has = async (one: Client) => ((await one.status(id)) === null ? null : one);
  return (await firstOf(eachOf(client), has, (found) => found !== null)) ?? client;
}

/** Queues that find waiting jobs by their ids. */
export const pendingJobs: Support = {
  has: async (client, id) => (await keeperOf(client, id)).backend.pending !== undefined,
  lack: 'Expected a job in a queue that finds jobs by their id, got one in a queue that does not. Cancel it with DELETE, and enqueue another one.',
};

const policies = { overlap: { enum: ['allow', 'skip'] }, missed: { enum: ['one', 'all', 'skip'] } };

export const scheduleDefinition = named('ScheduleDefinition', {
  ...object(
    {
      job: text,
      payload: {},
      cron: { type: 'string', description: 'Five fields, or six with seconds first' },
      everyMs: { type: 'integer', minimum: 1_000 },
      timezone: { type: 'string', description: 'IANA name; UTC without it' },
      ...policies,
      until: { ...moment, description: 'No run is due after this time' },
      limit: { type: 'integer', minimum: 1, description: 'It ends after this many runs' },
    },
    ['payload', 'cron', 'everyMs', 'timezone', 'overlap', 'missed', 'until', 'limit'],
  ),
  additionalProperties: false,
  oneOf: [{ required: ['cron'] }, { required: ['everyMs'] }],
});

/** Whether it was made at run time. */
export const isStored = async (client: Client, name: string): Promise<boolean> =>
  keepsSchedules(client) && isName(name) && (await client.schedules.get(name)) !== null;

/** Over HTTP only schedules that were made at run time exist. An operator also sees those in code. */
export const schedule: Resource<StoredScheduleInfo> = {
  noun: 'schedule',
  parameter: 'name',
  text: 'name of a schedule',
  async names(client, name) {
    const inCode = client.app.schedules.map((one) => one.name);
    return inCode.includes(name) || !(await isStored(client, name)) ? inCode : [name];
  },
  async check(client, name) {
    if (!(await schedule.names!(client, name)).includes(name)) scheduleNamed(client.app, name);
  },
  find: async ({ schedules }, name) => (isName(name) ? schedules.get(name) : null),
  needs: 'schedules',
  owners: ({ job, context }) => [{ job, tenantId: context?.tenantId ?? null }],
  shape: named(
    'Schedule',
    object(
      {
        name: text,
        timing: text,
        cron: orNull(text),
        everyMs: orNull(count),
        timezone: text,
        job: text,
        payload: {},
        ...policies,
        until: orNull(moment),
        limit: orNull(count),
        tenantId: orNull(text),
        createdAt: moment,
        changedAt: moment,
        nextAt: orNull(moment),
        pausedAt: orNull(moment),
        failure: orNull(object({ at: moment, code: text, message: text })),
      },
      ['cron', 'everyMs', 'timezone', 'payload', 'tenantId'],
    ),
  ),
  view: (info) => ({ ...info, tenantId: info.context?.tenantId ?? null }),
  origin: 'GET /schedules lists them',
  notKept: [404, 'Expected a path of this API, got /schedules, which this queue does not keep.'],
};
