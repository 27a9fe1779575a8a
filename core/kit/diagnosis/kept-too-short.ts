import type { DiagnosisRequest, Looked } from '../../contract/diagnosis.ts';

/** Finds records that are removed before the idempotency keys of their jobs. @param caller named in the text, like `redis()` */
export function keptTooShort(caller: string, completedMs: number, { keysKeptMs }: DiagnosisRequest): Looked {
  if (completedMs >= keysKeptMs) return [];
  return {
    where: `retention of ${caller}`,
    text: `Completed jobs stay readable for ${hours(completedMs)}, and their idempotency keys refuse copies for ${hours(keysKeptMs)}: the sender of a copy may find no job.`,
    remedy: `Raise retention.completedMs of ${caller} to the longest idempotencyKeepMs of the jobs, or lower that.`,
  };
}

const hours = (ms: number): string => `${Math.round(ms / 360_000) / 10} h`;
