/** The shared state of the memory backend. */

import type { Clock } from '../../../core/base/clock.ts';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import type { Retention } from '../../../core/contract/store.ts';
import type { EndWatchers } from '../../../core/kit/records/end-watchers.ts';
import type { Entry } from './entry.ts';
import type { Groups } from './groups.ts';
import type { ReadyList } from './ready-list.ts';

export interface MemoryState {
  readonly clock: Clock;
  readonly retention: Retention;
  readonly entries: Map<string, Entry>;
  readonly readyLists: Map<string, ReadyList>;
  readonly paused: Set<string>;
  readonly groups: Groups;
  readyListOf(queue: string): ReadyList;
  readonly ends: EndWatchers;
  /** Lets waiting fetches look again. */
  wake(): void;
  nextSeq(): number;
  /** Puts an entry (back) into its ready list. @param rank by default from `readyAt` and the priority */
  queue(entry: Entry, readyAt: number, now?: number, rank?: number): void;
  /** `reason` null = completed. */
  finish(
    entry: Entry,
    reason: AbandonReason | null,
    error: string | null,
    keepMs?: number,
    now?: number,
  ): void;
  /** Removes waiting or held entries without a trace. */
  drop(entries: readonly Entry[]): void;
}
