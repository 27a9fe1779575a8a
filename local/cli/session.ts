/** The config, the backend and the client of one command: loaded when first asked for, closed at its end. */

import { onDemand } from '../../core/base/lazy.ts';
import { hint } from '../../core/base/nearest.ts';
import type { QueueAdmin } from '../../core/contract/admin.ts';
import { eachOf, isBackend, scoped } from '../../core/kernel/enqueue/backends.ts';
import { within } from '../waiting.ts';
import { actorOf } from './config/actor.ts';
import { type Config, findConfig, loadConfig } from './config/config.ts';
import { createOpened, type OpenedAll, openAll } from './config/open.ts';
import { notFound, unsupported } from './errors.ts';
import type { Io } from './io.ts';

export interface Session extends ReturnType<typeof sessionOf> {
  /** The same on this backend alone. */
  of(name: string): Session;
}

/** What the sessions of one command share. */
interface Shared {
  readonly config: () => Promise<Config>;
  readonly all: OpenedAll;
}

function share(io: Io, configPath: string | undefined): Shared {
  const config = onDemand(() => loadConfig(io, configPath));
  return { config, all: openAll(config) };
}

/** @param backendName which one, where the config exports several */
export function createSession(
  io: Io,
  configPath: string | undefined,
  backendName?: string,
  shared = share(io, configPath),
): Session {
  const session = sessionOf(io, configPath, backendName, shared);
  return { ...session, of: (name) => createSession(io, configPath, name, shared) };
}

function sessionOf(io: Io, configPath: string | undefined, backendName: string | undefined, shared: Shared) {
  const { config, all } = shared;
  const opened = createOpened(io, config, backendName, all);
  const { backend, backends, store, routing, client } = opened;
  const keyless = onDemand(opened.keyless);
  const operator = onDemand(async () => {
    const { createOperator } = await import('../../core/operations/operator.ts');
    return createOperator(await keyless(), actorOf(io.env));
  });
  return {
    /** As `--backend` says it. */
    named: backendName,
    /** Where the config is, without loading it. */
    configPath: () => findConfig(io, configPath),
    config,
    backend,
    backends,
    routing,
    /** What stands beside the backend; `undefined` = it keeps its state itself. */
    store,
    client,
    /** Of the backends that are used, where there are several and none is named; else none. */
    async several(): Promise<readonly string[]> {
      const all = await backends();
      if (backendName !== undefined || isBackend(all)) return [];
      const here = Object.keys(all).filter((one) => all[one]);
      return here.length > 1
        ? here.toSorted((a, b) => Number(b === 'default') - Number(a === 'default'))
        : [];
    },
    /** One for each backend, with the queues and schedules that belong to it; of the one that is named alone. */
    clients: async () => eachOf(await client()).map(scoped),
    keylessClients: async () => eachOf(await keyless()).map(scoped),
    /** Works without a signing key as far as nothing is signed. */
    keyless,
    /** Who acts is the user of this machine. Works without a signing key as far as nothing is signed. */
    operator,
    /** Throws `UNSUPPORTED` on a backend that cannot be administered. */
    async admin(what: string): Promise<QueueAdmin> {
      const { admin, name } = await backend();
      if (admin) return admin;
      throw unsupported(
        `Backend "${name}" cannot ${what}: it offers no administration. Use the broker's own tools.`,
      );
    },
    /** `names`, each known to the app or to the backend; without any, all of them. Throws `NOT_FOUND`. */
    async queues(names: readonly string[]): Promise<readonly string[]> {
      const { admin } = await backend();
      const used = admin ? (await admin.stats()).map(({ queue }) => queue) : [];
      const known = [...new Set([...(await opened.queues()), ...used])];
      const unknown = names.find((name) => !known.includes(name));
      // A backend that cannot list its queues may well have this one.
      if (unknown !== undefined && admin)
        throw notFound(`There is no queue "${unknown}" here.${hint(unknown, known)}`);
      return names.length > 0 ? [...new Set(names)] : known;
    },
    async close(): Promise<void> {
      // One that was not opened in time is left to the end of the process, and so is one that does not close.
      await within(io.clock, longestCloseMs, opened.close(), () => {});
    },
  };
}

const longestCloseMs = 3_000;
