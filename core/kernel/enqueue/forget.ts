/** Forgets what stores keep beside a job that was cancelled or removed while it waited. Loaded with the first such call. */

import { backendError, reportingFailures } from '../../base/failure.ts';
import { childOf } from '../../envelope/flow-ids.ts';
import { leaveLines } from '../../features/limits/lines.ts';
import { nameOfJob } from '../../features/steps/log.ts';
import { swap } from '../../kit/records/swap.ts';
import type { Client } from './client.ts';

type ForgettingClient = Pick<Client, 'app' | 'backend' | 'stores'>;

/** Its steps, its places in the lines of limits and in a batch. Never fails: what is missed ends by itself, or is found by a later look. */
export async function forgetJob(client: ForgettingClient, id: string): Promise<void> {
  await Promise.all([forgetWaiting(client, id), endChildren(client, [id])]);
}

/** For a child whose batch knows. */
export async function forgetWaiting(client: ForgettingClient, id: string): Promise<void> {
  await Promise.all([forgetSteps(client, id), leaveLines(client, [id])]);
}

/** Without their steps, which end by themselves. */
export async function forgetJobs(client: ForgettingClient, ids: readonly string[]): Promise<void> {
  await Promise.all([leaveLines(client, ids), endChildren(client, ids)]);
}

/** A child that never runs has failed. */
async function endChildren(client: ForgettingClient, ids: readonly string[]): Promise<void> {
  const children = ids.flatMap((id) => childOf(id) ?? []);
  if (children.length === 0 || !client.stores.batches) return;
  const { markAllEnded } = await import('../../features/batches/marks.ts');
  const ends = children.map((child) => ({ ...child, failed: true }));
  const write = () => markAllEnded(client, ends);
  await reportingFailures(client.app.events, 'counting children of batches', ids, write, 'batch');
}

async function forgetSteps({ app, backend, stores }: ForgettingClient, id: string): Promise<void> {
  if (!stores.steps) return;
  await swap(stores.steps, nameOfJob(id), undefined, (text) => ({
    answer: undefined,
    ...(text !== null && { text: null }),
  })).catch((cause) => {
    const during = 'forgetting the steps of a job';
    const error = backendError(during, cause);
    app.events.emit({ type: 'backend.failed', backend: backend.name, during, error });
  });
}
