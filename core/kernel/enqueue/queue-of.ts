/** The queue that a job goes to. */

import { checkQueue } from '../../base/checks.ts';
import { LongshoreError } from '../../base/errors.ts';
import { hint } from '../../base/nearest.ts';
import type { Job } from '../app/job.ts';
import type { EnqueueOptions } from '../app/options.ts';
import type { Client } from './client.ts';

/** Throws `UNKNOWN_JOB` if every worker of the app would reject the job, and `OPTION` if no worker takes from the queue. */
export function queueOf({ app }: Pick<Client, 'app'>, job: Job, { queue }: EnqueueOptions): string {
  if (queue !== undefined) checkQueue(queue);
  const to = queue ?? job.queue;
  if (app.accepts.get(to)?.has(job.name) === false)
    throw new LongshoreError(
      'UNKNOWN_JOB',
      `Queue "${to}" does not accept job "${job.name}". Add the job to accepts of createApp(), or name another queue.`,
    );
  if (queue !== undefined && !app.queues.includes(queue))
    throw new LongshoreError(
      'OPTION',
      `Queue "${queue}" is not declared, so no worker would run its jobs.${hint(queue, app.queues)} Declare it: createApp({ queues: { '${queue}': {} } }), or as the queue of a job.`,
    );
  return to;
}
