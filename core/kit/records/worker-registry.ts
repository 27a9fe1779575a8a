/** A worker registry over any table that is ordered by time: the rules are here, once for all tables. */

import type { WorkerBeat, WorkerRegistry } from '../../contract/store.ts';
import { forgetWorkerMs } from '../worker-state.ts';

export interface BeatTable {
  /**
   * Writes over what this worker said last. Resolves with whether it is to drain. May remove beats that were seen before `goneBefore`
   * (epoch ms).
   */
  write(beat: WorkerBeat, text: string, goneBefore: number): Promise<boolean>;
  /** The texts of those seen since then, in any order; others among them do no harm. */
  read(seenSince: number): Promise<readonly string[]>;
  remove(id: string): Promise<unknown>;
  /** `false` = unknown. */
  drain(id: string): Promise<boolean>;
}

export function workerRegistry(table: BeatTable): Required<WorkerRegistry> {
  return {
    async heartbeat(beat) {
      return { drain: await table.write(beat, JSON.stringify(beat), beat.seenAt - forgetWorkerMs) };
    },
    async list(seenSince) {
      const beats = (await table.read(seenSince)).map((text) => JSON.parse(text) as WorkerBeat);
      // A table that removes late still holds some that the newest heartbeat has outlived.
      const from = Math.max(seenSince, ...beats.map(({ seenAt }) => seenAt - forgetWorkerMs));
      return beats.filter(({ seenAt }) => seenAt >= from).sort((a, b) => a.startedAt - b.startedAt);
    },
    async remove(id) {
      await table.remove(id);
    },
    drain: (id) => table.drain(id),
  };
}
