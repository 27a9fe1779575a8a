/** `longshore/dashboard`: the queues and jobs of an app for people, in a browser. `docs/dashboard.md` says how to mount it. */

import type { App } from '../app/app.ts';
import type { QueueBackend } from '../contract/queue.ts';
import type { ConnectOptions } from '../enqueue/client.ts';
import { connectOne } from '../enqueue/connect.ts';
import { createDashboard, type DashboardHandler } from './dashboard.ts';
import type { DashboardOptions } from './options.ts';

export type { FaultInfo, FaultResult } from './api.ts';
export { createDashboard, type DashboardHandler } from './dashboard.ts';
export type {
  DashboardAuthorize,
  DashboardDevelopment,
  DashboardFaults,
  DashboardOptions,
  DashboardUser,
} from './options.ts';

/**
 * A handler to mount in Express, Fastify, Hono, Next.js, on Lambda or Functions. With a client at hand take `createDashboard`.
 * Throws `CONFIG` unless exactly one of `authorize` and `development` is given.
 */
export const dashboard = (
  app: App,
  backend: QueueBackend,
  { store, ...options }: DashboardOptions & ConnectOptions,
): DashboardHandler => createDashboard(connectOne(app, backend, store ? { store } : {}), options);
