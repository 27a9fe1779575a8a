/** The queue that a job goes to. */

import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import type { EnqueueOptions } from '../app/options.ts';
import { checkQueue } from '../base/checks.ts';
import { LongshoreError } from '../base/errors.ts';
import { tellWarning } from '../base/events.ts';
import { hint } from '../base/nearest.ts';
import type { Client } from './client.ts';

/** Per app the queues that were told. */
const toldOf = new WeakMap<App, Set<string>>();
/** Names may come from outside. */
const mostTold = 100;

/** Throws `UNKNOWN_JOB` where every worker of the app would reject the job. */
export function queueOf(
  { app, backend }: Pick<Client, 'app' | 'backend'>,
  job: Job,
  { queue }: EnqueueOptions,
): string {
  if (queue !== undefined) checkQueue(queue);
  const accepted = app.accepts.get(queue ?? job.queue);
  if (accepted?.has(job.name) === false)
    throw new LongshoreError(
      'UNKNOWN_JOB',
      `Queue "${queue ?? job.queue}" does not accept job "${job.name}". Add the job to accepts of createApp(), or name another queue.`,
    );
  if (queue === undefined) return job.queue;
  if (!accepted && !app.queues.includes(queue)) tellUnknown(app, backend.name, queue);
  return queue;
}

/** Told and not refused: a worker may take from any queue that it is given by name. */
function tellUnknown(app: App, backend: string, queue: string): void {
  const told = toldOf.get(app) ?? new Set();
  toldOf.set(app, told);
  if (told.has(queue) || told.size === mostTold) return;
  told.add(queue);
  const known = [...new Set([...app.queues, ...app.accepts.keys()])];
  tellWarning(
    app.events,
    backend,
    `No job of the app names queue "${queue}": its jobs wait for a worker that names it.${hint(queue, known)} If it is meant, list its jobs in accepts of createApp().`,
  );
}
