/** `longshore/dashboard`: shows the queues and jobs of an app in a browser. `docs/dashboard.md` says how to mount it. */

import type { QueueBackend } from '../../contract/queue.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Backends } from '../../kernel/enqueue/backends.ts';
import type { ConnectOptions } from '../../kernel/enqueue/client.ts';
import type { RoutingOptions } from '../../routing/client.ts';
import { connect } from '../../routing/connect.ts';
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
 * Returns a handler to mount in Express, Fastify, Hono, Next.js, on Lambda or Functions. If you have a client, use `createDashboard`.
 * Throws `CONFIG` unless exactly one of `authorize` and `development` is given.
 */
export function dashboard(
  app: App,
  backend: QueueBackend,
  options: DashboardOptions & ConnectOptions,
): DashboardHandler;
/** Shows all backends that this process uses. For one of them, pass its client to `createDashboard`. */
export function dashboard(
  app: App,
  backends: Backends,
  options: DashboardOptions & RoutingOptions,
): DashboardHandler;
export function dashboard(
  app: App,
  backend: QueueBackend | Backends,
  {
    store,
    failover,
    ...options
  }: DashboardOptions & (ConnectOptions | RoutingOptions) & Pick<RoutingOptions, 'failover'>,
): DashboardHandler {
  const beside = { ...(store && { store }), ...(failover && { failover }) };
  return createDashboard(connect(app, backend, beside), options);
}
