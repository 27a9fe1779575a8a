/** The tenant, actor, request and trace of the work in progress, carried along without passing it around. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { JobContext } from '../../envelope/envelope.ts';

const storage = new AsyncLocalStorage<JobContext>();

/** Runs `work` so that every `enqueue` inside it, however deep, carries `context`. For a web app's middleware. */
export function withContext<T>(context: JobContext, work: () => T): T {
  return storage.run(context, work);
}

/** The context of the job or request that is running now. */
export function currentContext(): JobContext | undefined {
  return storage.getStore();
}
