/** The statuses of jobs and the reasons of their ends, and the partitions of records by status or by id. */

import type { AbandonReason, JobStatus } from '../../contract/outcome.ts';
import type { JobRecord } from '../../contract/store.ts';
import type { Past } from './store.ts';

const ended: readonly string[] = ['completed', 'cancelled'] satisfies JobStatus[];
const dead: readonly string[] = ['failed', 'expired'] satisfies JobStatus[];
export const finalStatuses = [...ended, ...dead] as readonly JobStatus[];
export const statuses: readonly JobStatus[] = ['pending', 'processing', 'retrying', ...finalStatuses];

/**
 * The number of runs, with the one under way, which has no report yet. Old reports of a job with many runs are gone, and a dead letter that
 * is retried counts its attempts from 1 again: the larger number counts.
 */
export const runsOf = ({ attempts, status }: Pick<JobRecord, 'attempts' | 'status'>): number =>
  Math.max(attempts.length, attempts.at(-1)?.attempt ?? 0) + (status === 'processing' ? 1 : 0);

/** Why a job will never run again. */
export const reasons: readonly AbandonReason[] = [
  'permanent',
  'exhausted',
  'crash-loop',
  'rejected',
  'expired',
  'cancelled',
];

/** Records of this status that finished at this moment or earlier are past their retention; `null` = jobs that have not ended. */
export function pastOf(status: string, past: Past): number | null {
  if (dead.includes(status)) return past.dead;
  return ended.includes(status) ? past.ended : null;
}

/** Spreads names evenly. A name must always get the same shard, because stored data depends on it. */
export function shardOf(name: string, shards: number): number {
  let sum = 0;
  for (let i = 0; i < name.length; i++) sum = (sum * 31 + name.charCodeAt(i)) >>> 0;
  return sum % shards;
}
