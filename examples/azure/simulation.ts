/** The services around the shop's function app in `longshore simulate functions`. */

import { connect } from '../../core/index.ts';
import { serviceBus } from '../../functions/azure/index.ts';
import { memoryStore } from '../../local/backends/memory/index.ts';
import { openShop } from '../demo/simulated.ts';

export interface Surroundings {
  readonly folder: string;
  readonly connectionString: string;
}

export async function startShop({ folder, connectionString }: Surroundings) {
  const shop = await openShop(folder, (app) => {
    const { queues } = app;
    return connect(app, serviceBus({ connectionString, queues }), { store: memoryStore() });
  });
  const { DATABASE_URL } = process.env;
  return { ...shop, env: { ...shop.env, TMPDIR: folder, DATABASE_URL: DATABASE_URL || 'memory' } };
}
