/** The tenant, actor, request and trace of the current work, available without passing them around. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { JobContext } from '../../envelope/envelope.ts';

const storage = new AsyncLocalStorage<JobContext>();

/** Runs `work` with this context: every `enqueue` inside it, however deep, carries `context`. For a web app's middleware. */
export function withContext<T>(context: JobContext, work: () => T): T {
  return storage.run(context, work);
}

/** The context of the current job or request. */
export function currentContext(): JobContext | undefined {
  return storage.getStore();
}
