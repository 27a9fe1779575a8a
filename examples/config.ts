/** Which queue the examples run on: LONGSHORE_BACKEND. The only file of the examples that knows backends by name. */

import { type App, type Contract, LongshoreError } from '../core/index.ts';

interface Place {
  /** Where a backend that keeps a file puts it. */
  readonly path: string;
}

/** Loaded on demand, so that a driver that is not installed only matters to those who ask for it. */
const backends: Readonly<Record<string, (app: App, place: Place) => Promise<Contract.QueueBackend>>> = {
  sqlite: async (_, { path }) => (await import('../local/backends/sqlite/index.ts')).sqlite(path),
  memory: async () => (await import('../local/backends/memory/index.ts')).memory(),
  sync: async (app) => (await import('../local/backends/sync.ts')).sync(app),
};

/** Throws `CONFIG` for a backend that the examples do not know. */
export async function exampleBackend(
  app: App,
  place: Place,
  name: string = process.env.LONGSHORE_BACKEND || 'sqlite',
): Promise<Contract.QueueBackend> {
  const open = Object.hasOwn(backends, name) ? backends[name] : undefined;
  if (!open) {
    const names = Object.keys(backends).join(', ');
    throw new LongshoreError('CONFIG', `Expected LONGSHORE_BACKEND to be one of ${names}, got "${name}".`);
  }
  return open(app, place);
}
