/** What is kept elsewhere of a job that was cancelled or removed while it waited. Loaded with the first such call. */

import { backendError } from '../base/failure.ts';
import { leaveLines } from '../limits/lines.ts';
import { nameOfJob } from '../steps/log.ts';
import { swap } from '../steps/swap.ts';
import type { Client } from './client.ts';

type ForgettingClient = Pick<Client, 'app' | 'backend' | 'stores'>;

/** Its steps, and its places in the lines of limits. Never fails: steps end by themselves, and no event or slot wakes a job that is gone. */
export async function forgetJob(client: ForgettingClient, id: string): Promise<void> {
  await Promise.all([forgetSteps(client, id), leaveLines(client, [id])]);
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
