/** The config, the backend and the client of one command: loaded when first asked for, closed at its end. */

import type { QueueAdmin } from '../../core/contract/admin.ts';
import { clientOf, connect } from '../../core/enqueue/connect.ts';
import { onDemand } from '../../core/kit/lazy.ts';
import { within } from '../waiting.ts';
import { actorOf } from './config/actor.ts';
import { findConfig, loadConfig } from './config/config.ts';
import { hint } from './config/nearest.ts';
import { notFound, unsupported } from './errors.ts';
import type { Io } from './io.ts';

export type Session = ReturnType<typeof createSession>;

export function createSession(io: Io, configPath: string | undefined) {
  const opened: { close?(): Promise<void> }[] = [];
  function kept<T extends (typeof opened)[number] | undefined>(one: T): T {
    if (one) opened.push(one);
    return one;
  }
  const config = onDemand(() => loadConfig(io, configPath));
  const backend = onDemand(async () => kept(await (await config()).backend()));
  const store = onDemand(async () => kept(await (await config()).store()));
  const parts = async () => {
    const { app } = await config();
    const [opened, beside] = [await backend(), await store()];
    return [app, opened, beside ? { store: beside } : {}] as const;
  };
  const client = onDemand(async () => connect(...(await parts())));
  const operator = onDemand(async () => {
    const { createOperator } = await import('../../core/operator/operator.ts');
    return createOperator(clientOf(...(await parts())), actorOf(io.env));
  });
  return {
    /** Where the config is, without loading it. */
    configPath: () => findConfig(io, configPath),
    config,
    backend,
    /** What stands beside the backend; `undefined` = it keeps its state itself. */
    store,
    client,
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
      const { app } = await config();
      const { admin } = await backend();
      const used = admin ? (await admin.stats()).map(({ queue }) => queue) : [];
      const known = [...new Set([...app.queues, ...used])];
      const unknown = names.find((name) => !known.includes(name));
      // A backend that cannot list its queues may well have this one.
      if (unknown !== undefined && admin)
        throw notFound(`There is no queue "${unknown}" here.${hint(unknown, known)}`);
      return names.length > 0 ? [...new Set(names)] : known;
    },
    async close(): Promise<void> {
      // One that was not opened in time is left to the end of the process, and so is one that does not close.
      const closed = Promise.all(opened.map((one) => one.close?.()));
      await within<unknown>(io.clock, longestCloseMs, closed, () => {});
    },
  };
}

const longestCloseMs = 3_000;
