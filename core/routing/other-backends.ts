/** One backend of an app, with the others beside it. Imports nothing that core/index.ts exports: a function would start with all of it. */

import type { QueueBackend } from '../contract/queue.ts';
import type { Stores } from '../contract/store.ts';
import type { App } from '../kernel/app/app.ts';
import { abilitiesOf, checkAbilities } from '../kernel/enqueue/abilities.ts';
import type { Backends } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import type { RoutedClient } from './client.ts';
import { route } from './route.ts';

export interface OtherBackends {
  /** The name of this backend, where the app has several. @default 'default' */
  readonly backendName?: string;
  /** The other backends of the app by name, `null` for those that this function does not use. @default there are none */
  readonly otherBackends?: Readonly<Record<string, QueueBackend | null>>;
}

/** The backend and the stores of one, and the verbs of all: what its handlers enqueue goes where it belongs. */
export function viewOf(client: RoutedClient, name: string): Client {
  const { backend, stores } = client.backends.get(name)!;
  return { ...client, name, backend, stores };
}

/** Connects to the one, and to those beside it. Throws `CONFIG`. */
export function connectWithOthers(
  app: App,
  backend: QueueBackend,
  store: Partial<Stores>,
  { backendName = 'default', otherBackends }: OtherBackends,
): Client {
  app.keyRing();
  const all = { ...otherBackends, [backendName]: backend } as unknown as Backends;
  const client = viewOf(route(app, all, { store: { [backendName]: store } }), backendName);
  checkAbilities(app, abilitiesOf(client), backendName);
  return client;
}
