/** The config, backend and client of one command. Loaded at the first use, closed at the end. */

import { hostname, userInfo } from 'node:os';
import { relative } from 'node:path';
import { onDemand } from '../../core/base/lazy.ts';
import type { Stores } from '../../core/contract/store.ts';
import { eachOf, isBackend, scoped } from '../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
import { clientOf } from '../../core/kernel/enqueue/connect.ts';
import type { OperatorIdentity } from '../../core/operations/types.ts';
import type { RoutingOptions } from '../../core/routing/client.ts';
import { connect } from '../../core/routing/connect.ts';
import { route } from '../../core/routing/route.ts';
import { within } from '../waiting.ts';
import { findConfig, loadConfig, only } from './config/config.ts';
import { unsupported } from './errors.ts';
import type { Io } from './io.ts';

export type Session = ReturnType<typeof createSession>;

interface Closing {
  close?(): Promise<void>;
}

/** @param backendName selects a backend, if the config exports several. Without it a client sends each job to the job's own backend. */
export function createSession(io: Io, configPath: string | undefined, backendName: string | undefined) {
  const config = onDemand(() => loadConfig(io, configPath));
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
  const backend = onDemand(async () =>
    only(await backends(), backendName, relative(io.cwd, (await config()).path)),
  );
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

  async function connected(signs: boolean): Promise<Client> {
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
    return backendName === undefined ? routed : routed.backends.get(backendName)!;
  }

  const client = onDemand(() => connected(true));
  const keyless = onDemand(() => connected(false));
  const operator = onDemand(async () => {
    const { createOperator } = await import('../../core/operations/operator.ts');
    return createOperator(await keyless(), actorOf(io.env));
  });
  return {
    /** The value of `--backend`. */
    named: backendName,
    /** The path of the config. Does not load it. */
    configPath: () => findConfig(io, configPath),
    config,
    /** The backend of `--backend`, otherwise the first. */
    backend,
    /** All backends of the config. */
    backends,
    /** Routing options for a worker. */
    routing: async () => ({
      ...(await routing()),
      ...(backendName !== undefined && { backendName }),
    }),
    /** The store beside the backend; `undefined` = the backend keeps its own state. */
    store,
    client,
    /** Names of the backends, if several are in use and `--backend` is missing. Otherwise empty. */
    async several(): Promise<readonly string[]> {
      const all = await backends();
      if (backendName !== undefined || isBackend(all)) return [];
      const here = Object.keys(all).filter((one) => all[one]);
      return here.length > 1
        ? here.toSorted((a, b) => Number(b === 'default') - Number(a === 'default'))
        : [];
    },
    /** A client per backend, with only its queues and schedules. With `--backend`, only one. */
    clients: async () => eachOf(await client()).map(scoped),
    keylessClients: async () => eachOf(await keyless()).map(scoped),
    /** A client that needs a signing key only when it signs. */
    keyless,
    /** An operator with the user of this machine as actor. Needs a signing key only when it signs. */
    operator,
    /** Throws `UNSUPPORTED` if no backend has an admin API. */
    async admin(what: string): Promise<void> {
      const { name } = await backend();
      if (eachOf(await keyless()).some((one) => one.backend.admin)) return;
      throw unsupported(
        `Backend "${name}" cannot ${what}: it offers no administration. Use the broker's own tools.`,
      );
    },
    async close(): Promise<void> {
      // A backend that does not open or close in time is left open until the process ends.
      const closed = Promise.all(closing.map((one) => one.close?.()));
      await within<unknown>(io.clock, longestCloseMs, closed, () => {});
    },
  };
}

const longestCloseMs = 3_000;

const longest = 256;

export function actorOf(env: Readonly<Record<string, string | undefined>>): OperatorIdentity {
  const actor = env.LONGSHORE_ACTOR?.trim() || userName();
  return { actor: actor.slice(0, longest), from: `cli ${hostname()}`.slice(0, longest) };
}

/** In a container, a user may have a number but no name. */
function userName(): string {
  try {
    return userInfo().username || uid();
  } catch {
    return uid();
  }
}

const uid = (): string => `uid ${process.getuid?.() ?? 'unknown'}`;
