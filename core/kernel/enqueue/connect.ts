/** Connects an app to a queue. enqueue.ts implements `enqueue()`; it is loaded with the first job. */

import { checkOptions } from '../../base/checks.ts';
import { config } from '../../base/errors.ts';
import { tellWarning } from '../../base/events.ts';
import { door } from '../../base/lazy.ts';
import type { QueueBackend } from '../../contract/queue.ts';
import type { Stores } from '../../contract/store.ts';
import { derivedNames, wholeStores } from '../../kit/texts/stores.ts';
import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import { abilitiesOf, checkAbilities } from './abilities.ts';
import { checkNamed } from './backends.ts';
import type { Client, ConnectOptions } from './client.ts';
import type { ManyCall } from './enqueue.ts';
import { forgetJobs, partsOf } from './parts.ts';

type OwnClient = Pick<
  Client,
  | ('app' | 'backend' | 'stores' | 'close')
  | ('enqueue' | 'enqueueMany' | 'status' | 'result' | 'watch' | 'cancel' | 'update' | 'promote' | 'remove')
>;

/** Loaded with the first job that is enqueued, so that a process that only runs jobs or reads records starts without it. */
const sending = door(() => import('./enqueue.ts'));
const byId = door(() => import('./door.ts'));

/**
 * Connects to one backend. `connect()` of core/routing also takes several; a function with one backend does not load that code. Does not read
 * the signing key, because a build may load a server's code without its secrets. A worker reads the key when it starts.
 */
export function connectOne(app: App, backend: QueueBackend, options: ConnectOptions = {}): Client {
  checkNamed(app, []);
  const client = clientOf(app, backend, options);
  checkAbilities(app, abilitiesOf(client), undefined);
  return client;
}

/** The same without the checks, for tools that only read and operate. */
export function clientOf(app: App, backend: QueueBackend, options: ConnectOptions = {}): Client {
  checkOptions('connect()', options, { store: '' });
  const stores = storesFor(app, backend, options.store);
  const stopListening = backend.onWarning?.((message) => tellWarning(app.events, backend.name, message));
  const parts = { app, backend, stores };
  const own: OwnClient = {
    ...parts,
    enqueue: (job, payload, options) => sending((it) => it.enqueue(parts, job as Job, payload, options)),
    enqueueMany: (...many: unknown[]) =>
      sending((it) => it.enqueueMany(parts, ...(many as ManyCall)) as never),
    async status(id) {
      const record = await stores.records.get(id);
      if (record?.startedAt == null) return record;
      return byId(({ believed }) => believed(app, record));
    },
    result(...asked) {
      const at = app.clock.now();
      return byId((it) => it.resultOf(parts, at, ...asked));
    },
    async *watch(...asked) {
      yield* await byId((it) => it.watchJob(parts, ...asked));
    },
    async cancel(id) {
      const result = await stores.records.cancel(id);
      if (result === 'cancelled') await forgetJobs(parts, [id], 'call');
      return result;
    },
    update: (job, ...asked) => byId((it) => it.update(parts, job as Job, ...asked)),
    promote: (id) => byId((it) => it.promote(parts, id)),
    remove: (id) => byId((it) => it.remove(parts, id)),
    async close() {
      stopListening?.();
      await backend.close();
      await options.store?.close?.();
    },
  };
  const client = own as Client;
  for (const add of partsOf(app).doors) Object.assign(client, add(client));
  return client;
}

/**
 * The stores of a client: the given ones, else the queue's own, else stores made from the text store of either. Throws `CONFIG` if a required
 * store is missing.
 */
function storesFor({ clock }: App, backend: QueueBackend, given: Partial<Stores> = {}): Stores {
  const [first, second] = [wholeStores(given, clock), wholeStores(backend.stores ?? {}, clock)];
  const stores: { -readonly [Name in keyof Stores]?: unknown } = {};
  for (const name of ['keys', 'records', 'texts', 'payloads', ...derivedNames] as const) {
    const store = first[name] ?? second[name];
    if (store) stores[name] = store;
  }
  const { records } = stores as Partial<Stores>;
  if (records && backend.recordsOf) stores.records = backend.recordsOf(records);
  if (stores.keys && stores.records && stores.workers) return stores as Stores;
  throw config(
    `Backend "${backend.name}" keeps no state of its own: give connect() a store, for example sqliteStore().`,
  );
}
