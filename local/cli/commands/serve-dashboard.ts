/** The dashboard on a port of this machine. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { DashboardHandler } from '../../../core/dashboard/index.ts';
import { type HttpServer, type ServeOptions, serveHttp } from '../../serve.ts';

/** The usual one, so that a page can be kept as a bookmark. */
export const dashboardPort = 4020;
const triedPorts = 20;

/** @param options without a port the usual one, or the next that is free */
export async function serveDashboard(
  handler: DashboardHandler,
  { port, ...options }: Partial<ServeOptions>,
): Promise<HttpServer> {
  const server =
    port === undefined ? await onFreePort(handler, options) : await serveHttp(handler, { ...options, port });
  return {
    ...server,
    close() {
      handler.close(); // its streams would last as long as the server waits
      return server.close();
    },
  };
}

async function onFreePort(
  handler: DashboardHandler,
  options: Omit<ServeOptions, 'port'>,
): Promise<HttpServer> {
  for (let tried = 0; tried < triedPorts; tried++) {
    try {
      return await serveHttp(handler, { ...options, port: dashboardPort + tried });
    } catch (error) {
      const isTaken = error instanceof LongshoreError && error.message.includes('EADDRINUSE');
      if (!isTaken) throw error;
    }
  }
  return serveHttp(handler, { ...options, port: 0 });
}
