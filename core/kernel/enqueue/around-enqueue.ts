/** The middleware around a call that enqueues. Loaded with the first such call of an app that has middleware. */

import type { SendResult } from '../../contract/queue.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import { compose } from '../app/compose.ts';
import { withContext } from '../app/context.ts';
import type { EnqueueCall } from '../app/middleware.ts';
import type { SendingClient } from './send.ts';

/** @param work reads the context of its jobs from `currentContext()` */
export function aroundEnqueue(
  { app, backend }: SendingClient,
  call: Omit<EnqueueCall, 'backend'>,
  context: JobContext,
  work: () => Promise<SendResult[]>,
): Promise<SendResult[]> {
  const whole: EnqueueCall = { backend: backend.name, ...call };
  return withContext(context, () => compose(app.middleware.enqueue, whole, work));
}
