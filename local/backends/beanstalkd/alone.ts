/** Stores for a backend without `store`: no records, and keys that hold within this process only. */

import type { Clock } from '../../../core/base/clock.ts';
import type { RecordStore, Stores } from '../../../core/contract/store.ts';
import { memoryStore } from '../memory/store.ts';

const noRecords: RecordStore = {
  recordsDisabled: true,
  get: async () => null,
  page: async () => ({ records: [], next: null }),
  body: async () => null,
  progress: async () => true,
  cancel: async () => 'unknown',
  cancelRequested: async () => [],
  purge: async () => 0,
};

export function aloneStores(clock: Clock): Stores {
  const { keys, workers, records } = memoryStore({ clock });
  // The purge of the records also removes old keys.
  return { keys, workers, records: { ...noRecords, purge: (olderThan) => records.purge(olderThan) } };
}

export const aloneWarning =
  'beanstalkd() has no store. Jobs run, but there is no history and no cancel; idempotency keys, schedules, the list of workers and ' +
  'the reasons of dead letters hold within this process only; schedules with overlap "skip" are refused; and a job that snoozes or is released ' +
  'at a shutdown has spent an attempt. ' +
  'Give it one: beanstalkd({ url, store: sqliteStore("jobs.db") }).';
