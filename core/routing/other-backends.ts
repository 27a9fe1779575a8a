/** Connects a function to its own backend and to others. Does not import core/index.ts, so that a function loads less. */

import type { QueueBackend } from '../contract/queue.ts';
import type { Stores } from '../contract/store.ts';
import type { App } from '../kernel/app/app.ts';
import { abilitiesOf, checkAbilities } from '../kernel/enqueue/abilities.ts';
import type { Backends } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import type { RoutedClient } from './client.ts';
import { route } from './route.ts';

export interface OtherBackends {
  /** The name of this backend, if the app has several. @default 'default' */
  readonly backendName?: string;
  /** The other backends of the app by name; `null` = this function does not use the backend. @default none */
  readonly otherBackends?: Readonly<Record<string, QueueBackend | null>>;
}

/** A client with the backend and stores of one backend and the verbs of all: jobs that its handlers enqueue go to their own backends. */
export function viewOf(client: RoutedClient, name: string): Client {
  const { backend, stores } = client.backends.get(name)!;
  return { ...client, name, backend, stores };
}

/** Connects to this backend and to the others. Throws `CONFIG`. */
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
