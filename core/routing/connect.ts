/** Connects an app to one backend or to several. */

import type { QueueBackend } from '../contract/queue.ts';
import type { App } from '../kernel/app/app.ts';
import { abilitiesOf, checkAbilities } from '../kernel/enqueue/abilities.ts';
import { type Backends, isBackend } from '../kernel/enqueue/backends.ts';
import type { Client, ConnectOptions } from '../kernel/enqueue/client.ts';
import { connectOne } from '../kernel/enqueue/connect.ts';
import type { RoutedClient, RoutingOptions } from './client.ts';
import { route } from './route.ts';

/** Connects to a backend. Throws `CONFIG` if the backend or its stores cannot honour an option of the app. */
export function connect(app: App, backend: QueueBackend, options?: ConnectOptions): Client;
/** Connects to several backends by name. A job goes to the backend that the call, the job or its queue names, else to `default`. */
export function connect(app: App, backends: Backends, options?: RoutingOptions): RoutedClient;
export function connect(
  app: App,
  backend: QueueBackend | Backends,
  options?: ConnectOptions | RoutingOptions,
): Client;
export function connect(
  app: App,
  backend: QueueBackend | Backends,
  options: ConnectOptions | RoutingOptions = {},
): Client {
  if (isBackend(backend)) return connectOne(app, backend, options as ConnectOptions);
  const client = route(app, backend, options as RoutingOptions);
  for (const [name, one] of client.backends) checkAbilities(app, abilitiesOf(one), name);
  return client;
}
