/** Which jobs a list shows. */

import type { JobRecord, RecordFilter, RecordStore } from '../../../core/contract/store.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { statuses } from '../../../core/kit/records/partitions.ts';
import { queueFlag } from '../config/flags.ts';
import { hint } from '../config/nearest.ts';
import { duration, id, idempotencyKey, name, oneOf, words } from '../config/values.ts';
import { given } from '../config/without-undefined.ts';
import type { Values } from '../definition.ts';
import { CliError } from '../errors.ts';
import type { Session } from '../session.ts';
import { firstOf, type Pages } from './pages.ts';

export const filterFlags = {
  queue: queueFlag,
  job: { flags: '--job <name>', text: 'only of this job', parse: name },
  status: {
    flags: '--status <status>',
    text: `only with this status: ${statuses.join(', ')}`,
    parse: oneOf(statuses),
  },
  tenant: { flags: '--tenant <id>', text: 'only of this tenant', parse: words },
  key: { flags: '--key <key>', text: 'only with this idempotency key', parse: idempotencyKey },
  schedule: { flags: '--schedule <name>', text: 'only those that this schedule enqueued', parse: name },
  worker: {
    flags: '--worker <name>',
    text: 'only those of which an attempt ran on this worker or host',
    parse: words,
  },
  error: { flags: '--error <text>', text: 'only with this text in an error; case counts', parse: words },
  id: { flags: '--id <prefix>', text: 'only those whose id begins with it', parse: id },
  olderThan: {
    flags: '--older-than <duration>',
    text: 'only those enqueued at least this long ago',
    parse: duration(),
  },
  newerThan: {
    flags: '--newer-than <duration>',
    text: 'only those enqueued within this time',
    parse: duration(),
  },
} as const;

export function filterOf(flags: Values<typeof filterFlags>, now: number): RecordFilter {
  const { queue, job, status, tenant, key, schedule, worker, error, id: idPrefix } = flags;
  const { olderThan, newerThan } = flags;
  return given({
    ...{ queue, job, status, tenantId: tenant, idempotencyKey: key, schedule, worker, error, idPrefix },
    createdFrom: newerThan === undefined ? undefined : now - newerThan,
    createdBefore: olderThan === undefined ? undefined : now - olderThan + 1,
  });
}

/** A job that the app does not know is probably a typing error: a sentence for who finds none of it. */
export function unknownJob({ jobs }: App, job: string | undefined): string {
  if (job === undefined || jobs.has(job)) return '';
  return ` The app has no job "${job}".${hint(job, jobs.keys())}`;
}

/** What the app does not know of a filter that matches nothing. It may match: records outlive their jobs and schedules. */
export async function unknownNames(
  { queue, job, schedule }: RecordFilter,
  session: Session,
): Promise<string> {
  const { app } = await session.config();
  const schedules = app.schedules.map(({ name }) => name);
  const noSchedule = schedule !== undefined && !schedules.includes(schedule);
  return [
    unknownJob(app, job),
    queue === undefined ? '' : await unknownQueue(queue, session),
    noSchedule ? ` The app has no schedule "${schedule}".${hint(schedule, schedules)}` : '',
  ].join('');
}

/** For who finds nothing in this queue. */
async function unknownQueue(queue: string, session: Session): Promise<string> {
  try {
    await session.queues([queue]);
    return '';
  } catch (error) {
    if (error instanceof CliError && error.code === 'NOT_FOUND') return ` ${error.message}`;
    throw error;
  }
}

export const firstJobs = (
  records: RecordStore,
  filter: RecordFilter,
  max: number,
  after?: string,
): Promise<Pages<JobRecord>> =>
  firstOf(
    async (page) => {
      const query = { ...filter, ...page };
      if (!records.page) return { found: await records.list(query), next: null };
      const { records: found, next } = await records.page(query);
      return { found, next };
    },
    max,
    after,
  );
