/** Asks a worker in another process to take no more jobs. */

import { LongshoreError, shown } from '../../base/errors.ts';
import { forgetWorkerMs, workerStateOf } from '../../kit/worker-state.ts';
import type { Client } from '../enqueue/client.ts';

/**
 * Resolves when the request is stored. The worker reads it with its next heartbeat, within 5 s: it takes no more jobs and stops as after a
 * signal, with the reason `asked`. The supervisor of its process may start another one. Asking twice changes nothing.
 *
 * Throws `OPTION` for a worker that is unknown or gone, and if the store cannot pass on requests.
 */
export async function drainWorker(
  { app, stores }: Pick<Client, 'app' | 'stores'>,
  id: string,
): Promise<void> {
  const { workers } = stores;
  const now = app.clock.now();
  const beat = (await workers.list(now - forgetWorkerMs)).find((one) => one.id === id);
  if (!beat) throw unknown(id);
  const agoMs = now - beat.seenAt;
  if (workerStateOf(beat.seenAt, now) === 'gone')
    throw new LongshoreError(
      'OPTION',
      `Expected a worker that runs, but ${shown(id)} was last seen ${Math.round(agoMs / 1000)} s ago: it is gone. Its jobs are ready again when their leases end.`,
    );
  if (!workers.drain)
    throw new LongshoreError(
      'OPTION',
      'The store cannot pass the request on to the worker. Send a signal to the process instead.',
    );
  if (!(await workers.drain(id))) throw unknown(id);
}

const unknown = (id: string): LongshoreError =>
  new LongshoreError(
    'OPTION',
    `Expected the id of a worker that was seen within 5 minutes, got ${shown(id)}.`,
  );
