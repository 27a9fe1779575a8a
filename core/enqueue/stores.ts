import { config } from '../base/errors.ts';
import type { QueueBackend } from '../contract/queue.ts';
import type { Stores } from '../contract/store.ts';

/** The state that goes with a queue: what is given, else the queue's own. Throws `CONFIG` when something is missing. */
export function storesOf(backend: QueueBackend, given: Partial<Stores> = {}): Stores {
  const keys = given.keys ?? backend.stores?.keys;
  const records = given.records ?? backend.stores?.records;
  const workers = given.workers ?? backend.stores?.workers;
  const payloads = given.payloads ?? backend.stores?.payloads;
  if (!keys || !records || !workers) {
    throw config(
      `Backend "${backend.name}" keeps no state of its own: give connect() a store, for example sqliteStore().`,
    );
  }
  return { keys, records, workers, ...(payloads && { payloads }) };
}
