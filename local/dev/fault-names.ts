/** The faults of `longshore dev`: their texts, and where each can be caused. */

import { systemClock } from '../../core/base/clock.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import type { App } from '../../core/kernel/app/app.ts';
import type { FaultInfo } from '../../core/surfaces/dashboard/api.ts';

export const diskFullMs = 10_000;
export const skipMs = 3_600_000;

const infos = {
  kill: {
    label: 'Kill the worker',
    text: 'Its process ends in the middle of a job, and a new one starts. When the lease of the job ends, the next attempt begins; its context says that the last one was interrupted.',
  },
  freeze: {
    label: 'Freeze the worker',
    text: 'Its process is frozen for longer than its lease, and a second worker runs the job meanwhile. When the first worker continues, it has lost its lease, so the end of its attempt changes nothing.',
  },
  'deliver-twice': {
    label: 'Deliver a job twice',
    text: 'A copy of its message is sent. A job with an idempotency key is skipped the second time. If the queue knows the message and drops the copy, the ack of the first run is lost instead, so that the job is delivered again.',
  },
  'lose-lock': {
    label: 'Take away a lease',
    text: 'The job returns to the queue while its worker still runs it. Another attempt begins at once, and the end of the first one changes nothing.',
  },
  'fail-next': {
    label: 'Fail the next attempt',
    text: 'The attempt throws. The job is retried with growing delays, until its retries are used up and it becomes a dead letter.',
  },
  'full-disk': {
    label: 'Fill the disk',
    text: 'For 10 seconds the worker can store nothing: it cannot lease or settle jobs, and its jobs cannot enqueue. Then it continues. Jobs that it could not settle run again.',
  },
  'skip-hour': {
    label: 'Skip an hour',
    text: 'The processes of `longshore dev` move their clocks ahead. Delayed jobs become ready and schedules are due. Other programs keep the real time.',
  },
} satisfies Readonly<Record<string, Omit<FaultInfo, 'name'>>>;

export type FaultName = keyof typeof infos;

/** These need a queue outside the worker's process, because jobs must survive a kill, and a second worker must reach them. */
const needOthers: readonly FaultName[] = ['kill', 'freeze'];

/** The faults that can be caused with this app and backend. */
export function faultInfos(app: App, backend: QueueBackend): readonly FaultInfo[] {
  if (backend.name === 'sync') return []; // it has no worker: each job runs where it is enqueued
  const leftOut: FaultName[] = backend.inProcess ? [...needOthers] : [];
  if (process.platform === 'win32') leftOut.push('freeze');
  if (backend.now || app.clock !== systemClock) leftOut.push('skip-hour'); // time is not ours there
  return Object.entries(infos)
    .filter(([name]) => !leftOut.includes(name as FaultName))
    .map(([name, info]) => ({ name, ...info }));
}
