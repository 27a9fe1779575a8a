/** A worker registry over any table that is ordered by time: the rules are here, once for all tables. */

import type { WorkerBeat, WorkerRegistry } from '../contract/store.ts';

export interface BeatTable {
  /** Writes over what this worker said last. May remove beats that were seen before `goneBefore` (epoch ms). */
  write(beat: WorkerBeat, text: string, goneBefore: number): Promise<unknown>;
  /** The texts of those seen since then, in any order; others among them do no harm. */
  read(seenSince: number): Promise<readonly string[]>;
  remove(id: string): Promise<unknown>;
}

/** A worker not seen for a day is gone. */
export const forgetWorkerMs = 86_400_000;

export function workerRegistry(table: BeatTable): WorkerRegistry {
  return {
    async heartbeat(beat) {
      await table.write(beat, JSON.stringify(beat), beat.seenAt - forgetWorkerMs);
    },
    async list(seenSince) {
      const beats = (await table.read(seenSince)).map((text) => JSON.parse(text) as WorkerBeat);
      return beats.filter(({ seenAt }) => seenAt >= seenSince).sort((a, b) => a.startedAt - b.startedAt);
    },
    async remove(id) {
      await table.remove(id);
    },
  };
}
