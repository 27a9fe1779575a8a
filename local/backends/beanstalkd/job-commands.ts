/** The commands for a job that one of our connections has reserved. Each resolves with `false` when the job is no longer ours. */

import type { Clock } from '../../../core/base/clock.ts';
import type { Connection } from './connection.ts';
import { refusal, succeeded } from './errors.ts';
import { infoOf } from './job-info.ts';
import type { LeasedJob } from './lease-table.ts';
import { rankOf, secondsOf } from './rank.ts';
import type { BeanstalkdState } from './state.ts';

/** beanstalkd lets anybody delete a job that nobody has reserved, so a delete must not arrive too late. */
const latestDeleteMs = 1_000;

export const ttrMsOf = ({ stats }: LeasedJob): number => Math.max(1, stats.ttrSeconds) * 1_000;

/** A delete that is sent now may arrive when the server has taken the job back. */
export const isLate = (job: LeasedJob, clock: Clock): boolean =>
  job.reservedUntil - clock.now() < Math.min(latestDeleteMs, ttrMsOf(job) / 4);

/** Starts its time to run anew. */
export async function touchJob(job: LeasedJob, clock: Clock): Promise<boolean> {
  const sentAt = clock.now();
  const reply = job.consumer.connection.send(`touch ${job.jobId}`);
  const isTouched = await succeeded(reply, 'TOUCHED', 'touching a job');
  if (isTouched) job.reservedUntil = Math.max(job.reservedUntil, sentAt + ttrMsOf(job));
  return isTouched;
}

export async function deleteJob(job: LeasedJob, clock: Clock): Promise<boolean> {
  if (isLate(job, clock) && !(await touchJob(job, clock))) return false;
  const reply = job.consumer.connection.send(`delete ${job.jobId}`);
  return succeeded(reply, 'DELETED', 'deleting a job');
}

export function buryJob({ consumer, jobId }: LeasedJob, rank: number): Promise<boolean> {
  return succeeded(consumer.connection.send(`bury ${jobId} ${rank}`), 'BURIED', 'burying a job');
}

/** Makes it ready again after the delay. */
export async function releaseJob(
  { clock, ageingMs }: BeanstalkdState,
  connection: Connection,
  { jobId, body, delayMs }: { jobId: number; body: string; delayMs: number },
): Promise<boolean> {
  const rank = rankOf(clock.now() + delayMs, infoOf(body, jobId).priority, ageingMs);
  const { word } = await connection.send(`release ${jobId} ${rank} ${secondsOf(delayMs)}`);
  if (word === 'RELEASED') return true;
  if (word === 'NOT_FOUND') return false;
  if (word !== 'BURIED') throw refusal('releasing a job', word);
  // The server has no memory to make it ready, and buried it would stay for ever.
  const again = await connection.send(`kick-job ${jobId}`);
  if (again.word !== 'KICKED') throw refusal('releasing a job', 'OUT_OF_MEMORY');
  return true;
}
