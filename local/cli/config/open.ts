/** The backends and stores of a config, opened when they are first asked for. */

import { relative } from 'node:path';
import { onDemand } from '../../../core/base/lazy.ts';
import { hint } from '../../../core/base/nearest.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { type Backends, isBackend, queuesOn } from '../../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { clientOf } from '../../../core/kernel/enqueue/connect.ts';
import type { RoutingOptions } from '../../../core/routing/client.ts';
import { connect } from '../../../core/routing/connect.ts';
import { route } from '../../../core/routing/route.ts';
import { usage } from '../errors.ts';
import type { Io } from '../io.ts';
import type { Config } from './config.ts';

interface Closing {
  close?(): Promise<void>;
}

export type OpenedAll = ReturnType<typeof openAll>;

/** What a config exports, opened once for all who ask. */
export function openAll(config: () => Promise<Config>) {
  const closing: Closing[] = [];
  const keep = (all: readonly (Closing | null | undefined)[]) => {
    for (const one of all) if (one) closing.push(one);
  };
  const backends = onDemand(async () => {
    const all = await (await config()).backend();
    keep(isBackend(all) ? [all] : Object.values(all));
    return all;
  });
  const stores = onDemand(async () => {
    const all = await (await config()).store();
    keep(isBackend(await backends()) ? [all as Closing | undefined] : Object.values(all ?? {}));
    return all;
  });
  const close = async (): Promise<void> => {
    await Promise.all(closing.map((one) => one.close?.()));
  };
  return { backends, stores, close };
}

/** @param name which backend, where the config exports several; without it a client sends each job where it belongs */
export function createOpened(
  io: Pick<Io, 'cwd'>,
  config: () => Promise<Config>,
  name: string | undefined,
  { backends, stores, close }: OpenedAll,
) {
  const backend = onDemand(async () => only(await backends(), name, relative(io.cwd, (await config()).path)));
  const nameOfBackend = async (): Promise<string | undefined> => {
    const own = await backend();
    return Object.entries(await backends()).find(([, one]) => one === own)?.[0];
  };
  const store = async () => {
    const own = await nameOfBackend();
    const all = await stores();
    return (own === undefined ? all : (all as RoutingOptions['store'])?.[own]) as Partial<Stores> | undefined;
  };
  const routing = async (): Promise<RoutingOptions> => {
    const { failover } = await config();
    const all = (await stores()) as RoutingOptions['store'];
    return { ...(all && { store: all }), ...(failover && { failover }) };
  };

  async function client(signs: boolean): Promise<Client> {
    const { app } = await config();
    const own = await backend();
    const all = await backends();
    if (signs) app.keyRing(); // throws with the remedy
    if (isBackend(all)) {
      const beside = await store();
      return (signs ? connect : clientOf)(app, own, beside ? { store: beside } : {});
    }
    const options = await routing();
    const routed = signs ? connect(app, all, options) : route(app, all, options);
    return name === undefined ? routed : routed.backends.get(name)!;
  }

  return {
    /** The one that is named, else the first. */
    backend,
    /** All that the config exports. */
    backends,
    /** What stands beside the backend; `undefined` = it keeps its state itself. */
    store,
    client: onDemand(() => client(true)),
    /** Works without a signing key as far as nothing is signed. */
    keyless: () => client(false),
    /** How a worker takes from the backends. */
    routing: async () => ({ ...(await routing()), ...(name !== undefined && { backendName: name }) }),
    /** That jobs of the backend are in. */
    async queues(): Promise<readonly string[]> {
      const { app, failover } = await config();
      const own = await nameOfBackend();
      return own === undefined ? app.queues : queuesOn(app, own, failover);
    },
    close,
  };
}

/** Throws `USAGE` for a name that there is not, or that this config does not use. @param name 'default' where none is given */
export function only(
  backend: QueueBackend | Backends,
  name: string | undefined,
  config: string,
): QueueBackend {
  if (isBackend(backend)) {
    if (name === undefined) return backend;
    throw usage(
      `Expected no --backend, because ${config} exports one backend without a name, got "${name}".`,
    );
  }
  const here = Object.keys(backend).filter((one) => backend[one]);
  const asked = name ?? here.find((one) => one === 'default') ?? here[0] ?? 'default';
  const found = Object.hasOwn(backend, asked) ? backend[asked] : null;
  if (found) return found;
  throw usage(
    `Expected --backend to be one of ${here.join(', ') || 'none'}, got "${asked}".${hint(asked, here)}`,
  );
}
