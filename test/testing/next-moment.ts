/** Finds the next due time in a tested app: of a delayed, retried or sleeping job, or a schedule. */

import type { QueueBackend } from '../../core/contract/queue.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';

const mostJobs = 10_000;

/** Epoch ms after `now`; `null` = nothing is due any more. */
export async function nextMoment(client: Client, backend: QueueBackend, now: number): Promise<number | null> {
  const moments = [...(await jobMoments(backend)), ...(await scheduleMoments(client, now))];
  const later = moments.filter((at) => at > now);
  return later.length === 0 ? null : Math.min(...later);
}

async function jobMoments({ admin }: QueueBackend): Promise<number[]> {
  const moments: number[] = [];
  for (const { queue } of await admin!.stats())
    for (const { readyAt } of await admin!.peek(queue, mostJobs)) moments.push(readyAt);
  return moments;
}

async function scheduleMoments(client: Client, now: number): Promise<number[]> {
  const moments: number[] = [];
  for (const schedule of client.app.schedules) moments.push((await schedule.nextAfter(now)) ?? now);
  for (let after: string | undefined; ; ) {
    const { schedules, next } = await client.schedules.list({ max: 1_000, ...(after && { after }) });
    moments.push(...schedules.map(({ nextAt }) => nextAt ?? now));
    if (next === null) return moments;
    after = next;
  }
}
