/** Connects an app to several backends. verbs.ts implements the verbs; it is loaded with the first call. */

import { checkOptions } from '../base/checks.ts';
import { door, onDemand, verbsOf } from '../base/lazy.ts';
import { batchVerbs, watchable } from '../features/batches/feature.ts';
import { chainVerbs } from '../features/chains/feature.ts';
import { schedulesOf } from '../features/schedules/feature.ts';
import type { App } from '../kernel/app/app.ts';
import { type Backends, checkGiven, checkNamed } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { clientOf } from '../kernel/enqueue/connect.ts';
import type { RoutedClient, RoutingOptions } from './client.ts';

const code = door(() => import('./verbs.ts'));

/** The members of a client that are not verbs: facts, and objects with verbs of their own. */
type Others =
  | 'watch'
  | 'app'
  | 'backend'
  | 'stores'
  | 'name'
  | 'backends'
  | 'batches'
  | 'chains'
  | 'schedules';

/** All verbs, checked by the compiler: a verb that is missing here would use only the first backend. */
const verbs = {
  enqueue: true,
  enqueueMany: true,
  status: true,
  result: true,
  cancel: true,
  update: true,
  promote: true,
  remove: true,
  emit: true,
  metrics: true,
  batch: true,
  chain: true,
  close: true,
  sending: true,
} satisfies Readonly<Record<Exclude<keyof RoutedClient, Others>, true>>;

/** Throws `CONFIG`. Does not read the signing key. */
export function route(app: App, backends: Backends, options: RoutingOptions): RoutedClient {
  checkOptions('connect()', options, { store: '', failover: '' });
  const { store = {}, failover = {} } = options;
  const given = Object.keys(backends ?? {});
  checkGiven('Every app', 'default', given);
  checkNamed(app, given);
  const names = [...new Set(['default', ...given])];
  const here = names.filter((name) => backends[name]);
  const named = [...Object.keys(store), ...Object.entries(failover).flat()];
  for (const name of [here[0] ?? 'default', ...named]) checkGiven('This process', name, here);
  const clients = new Map<string, Client>();
  for (const name of here) {
    const beside = store[name] ? { store: store[name] } : {};
    const one: Client = {
      ...clientOf(app, backends[name]!, beside),
      name,
      schedules: schedulesOf(() => one),
    };
    clients.set(name, one);
  }
  const real = onDemand(async () =>
    code(
      (it) => it.verbsOf({ app, names, clients, failover }) as Record<string, (...call: never) => unknown>,
    ),
  );
  const client: Record<string, unknown> = { ...clients.get(here[0]!), backends: clients };
  client.schedules = schedulesOf(() => client as unknown as RoutedClient);
  for (const verb of Object.keys(verbs))
    client[verb] = async (...call: never) => (await real())[verb]!(...call);
  client.batches = watchable(
    app.clock,
    verbsOf(batchVerbs, async () => code((it) => it.batchesOfAll(clients))),
  );
  client.watch = async function* (...call: Parameters<Client['watch']>) {
    yield* ((await real()).watch as unknown as Client['watch'])(...call);
  };
  client.chains = verbsOf(chainVerbs, async () => code((it) => it.chainsOfAll(clients)));
  return client as unknown as RoutedClient;
}
