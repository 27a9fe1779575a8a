/** Watches retried letters, so that the retry stops when too many of them fail again. */

import { sleep } from '../base/clock.ts';
import type { JobRecord } from '../contract/store.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { wrongOption } from '../kernel/enqueue/prepare.ts';
import { forEach } from '../kit/parallel.ts';

/** The first group is small: it shows whether the cause is gone. */
const firstSize = 10;
const lookEveryMs = 1_000;
/** The longest wait for one group. If not all of it has run by then, the next group is smaller. */
const longestWaitMs = 60_000;
const recordsAtOnce = 16;

/** The state of a job's record before its retry. */
interface Mark {
  readonly known: boolean;
  readonly runs: number;
  readonly lastRun: string;
  readonly finishedAt: number | null;
}

export type Watch = ReturnType<typeof watchOf>;

/** Throws `OPTION` if the stores keep no records. @param percent the highest share of failures among the jobs that ran again */
export function watchOf(client: Client, percent: number, signal: AbortSignal | undefined) {
  const { records } = client.stores;
  if (records.recordsDisabled)
    throw wrongOption(
      `stopAbovePercent only with records, and backend "${client.backend.name}" keeps none. Give connect() a store, or leave it out`,
    );
  const open = new Map<string, Mark>();
  let ran = 0;
  let failedAgain = 0;
  let size = firstSize;

  async function look(): Promise<void> {
    await forEach(
      [...open],
      async ([id, mark]) => {
        const how = outcomeOf(await records.get(id), mark);
        if (how === null) return;
        open.delete(id);
        if (how === 'unknown') return;
        ran++;
        if (how === 'failed') failedAgain++;
      },
      recordsAtOnce,
    );
  }

  return {
    /** The size of the next group. */
    size: () => size,
    counts: () => ({ ran, failedAgain }),
    /** Call this before the letters are retried. */
    async mark(ids: readonly string[]): Promise<void> {
      await forEach(ids, async (id) => open.set(id, markOf(await records.get(id))), recordsAtOnce);
    },
    /** Waits for the retried letters to run. Resolves with whether too many failed again. */
    async isFailing(onLook: () => void): Promise<boolean> {
      const before = ran;
      for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
        await look();
        onLook();
        if (open.size === 0 || waitedMs >= longestWaitMs || signal?.aborted) break;
        await sleep(client.app.clock, lookEveryMs, signal);
      }
      size = Math.max(1, open.size === 0 ? size * 2 : Math.min(size, ran - before));
      return ran > 0 && (failedAgain * 100) / ran > percent;
    },
  };
}

const lastRunOf = ({ attempts }: JobRecord): string => {
  const last = attempts.at(-1);
  return last ? `${last.attempt}@${last.startedAt}` : '';
};

const markOf = (record: JobRecord | null): Mark => ({
  known: record !== null,
  runs: record?.attempts.length ?? 0,
  lastRun: record ? lastRunOf(record) : '',
  finishedAt: record?.finishedAt ?? null,
});

/** `null` = it has not run yet. */
function outcomeOf(record: JobRecord | null, mark: Mark): 'failed' | 'done' | 'unknown' | null {
  // The record of a completed job may be deleted at once.
  if (!record) return mark.known ? 'done' : 'unknown';
  const last = record.attempts.at(-1);
  const isNew = record.attempts.length !== mark.runs || lastRunOf(record) !== mark.lastRun;
  if (record.status === 'completed' || record.status === 'cancelled') return 'done';
  if (last && isNew)
    return last.outcome === 'acked' || last.outcome === 'skipped-idempotent' ? 'done' : 'failed';
  const isDead = record.status === 'failed' || record.status === 'expired';
  return isDead && record.finishedAt !== mark.finishedAt ? 'failed' : null;
}
