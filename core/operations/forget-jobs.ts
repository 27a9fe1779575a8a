/** Cleans up behind jobs that were removed from a queue: they have no further attempt that would do it. */

import { reportingFailures } from '../base/failure.ts';
import { slices } from '../base/slices.ts';
import { adminOf } from '../kernel/enqueue/admin-of.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { forgetJobs } from '../kernel/enqueue/parts.ts';
import { forEach } from '../kit/parallel.ts';

type GoneClient = Pick<Client, 'app' | 'backend' | 'stores'>;

const idsAtOnce = 1_000;

export const clearQueue = (client: GoneClient, queue: string): Promise<number> =>
  adminOf(client).clear(queue, (ids) => jobsAreGone(client, ids));

/** Records in a separate store end as `cancelled`. Records in the queue's own storage were removed with the jobs. */
export async function jobsAreGone(client: GoneClient, ids: readonly string[]): Promise<void> {
  const { records } = client.stores;
  const cancel = (some: readonly string[]) => forEach(some, (id) => records.cancel(id));
  for (const some of slices(ids, idsAtOnce)) {
    if (records.writer)
      await reportingFailures(client.app.events, 'recording removed jobs', some, () => cancel(some));
    await forgetJobs(client, some, 'clear');
  }
}
