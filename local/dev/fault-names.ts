/** The faults of `longshore dev`: what each shows, and where it can be caused. */

import { systemClock } from '../../core/base/clock.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import type { App } from '../../core/kernel/app/app.ts';
import type { FaultInfo } from '../../core/surfaces/dashboard/api.ts';

export const diskFullMs = 10_000;
export const skipMs = 3_600_000;

const infos = {
  kill: {
    label: 'Kill the worker',
    text: 'Its process ends in the middle of a job, and another one starts. When the lease of the job is over, the job is run again as the next attempt, which is told that the last one was interrupted.',
  },
  freeze: {
    label: 'Freeze the worker',
    text: 'Its process stands still for longer than its lease. A second worker runs the job meanwhile. When the first one goes on, it has lost its lease: what it reports changes nothing.',
  },
  'deliver-twice': {
    label: 'Deliver a job twice',
    text: 'A second copy of its message is sent. The queue drops one that it knows; a job with an idempotency key is skipped the second time. What the queue drops is delivered again in another way: the ack of its first run gets lost.',
  },
  'lose-lock': {
    label: 'Take away a lease',
    text: 'The job goes back to the queue while its worker still runs it. Another attempt begins at once, and the end of the first one changes nothing.',
  },
  'fail-next': {
    label: 'Fail the next attempt',
    text: 'It throws. The job is retried, later each time, until its retries are used up and it is a dead letter.',
  },
  'full-disk': {
    label: 'Fill the disk',
    text: 'For 10 seconds the worker can store nothing: it leases and settles no jobs, and what its jobs enqueue is refused. Then it goes on. Jobs that it could not settle are run again.',
  },
  'skip-hour': {
    label: 'Skip an hour',
    text: 'The processes of `longshore dev` move their clocks ahead. Delayed jobs become ready and schedules are due. Other programs keep the real time.',
  },
} satisfies Readonly<Record<string, Omit<FaultInfo, 'name'>>>;

export type FaultName = keyof typeof infos;

/** In the memory of one process there is nothing left after a kill, and no second worker. */
const needOthers: readonly FaultName[] = ['kill', 'freeze'];

export const isAlone = ({ name }: QueueBackend): boolean => name === 'memory' || name === 'sync';

/** Those that can be caused here. */
export function faultInfos(app: App, backend: QueueBackend): readonly FaultInfo[] {
  if (backend.name === 'sync') return []; // it has no worker: each job runs where it is enqueued
  const leftOut: FaultName[] = isAlone(backend) ? [...needOthers] : [];
  if (process.platform === 'win32') leftOut.push('freeze');
  if (backend.now || app.clock !== systemClock) leftOut.push('skip-hour'); // time is not ours there
  return Object.entries(infos)
    .filter(([name]) => !leftOut.includes(name as FaultName))
    .map(([name, info]) => ({ name, ...info }));
}
