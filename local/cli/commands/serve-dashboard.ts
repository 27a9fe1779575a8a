/** Serves the dashboard on a port of this machine. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type {
  DashboardDevelopment,
  DashboardHandler,
  DashboardOptions,
} from '../../../core/surfaces/dashboard/index.ts';
import { type HttpServer, type ServeOptions, serveHttp } from '../../serve.ts';
import { given } from '../config/values.ts';
import type { Input } from '../definition.ts';
import { actorOf } from '../session.ts';

/** The default port, so that a bookmark keeps working. */
export const dashboardPort = 4020;
const triedPorts = 20;

export interface DevelopmentOptions
  extends Pick<DashboardDevelopment, 'secret' | 'anotherLink'>,
    Pick<DashboardOptions, 'faults'> {
  readonly port: number | undefined;
  readonly host?: string | undefined;
}

/** Serves visitors with a one-time link. Throws `UNSUPPORTED` for a backend without an admin API. */
export async function serveDevelopment(
  { io, session }: Pick<Input, 'io' | 'session'>,
  { port, host, faults, ...development }: DevelopmentOptions,
): Promise<HttpServer & { link(): string }> {
  await session.admin('be shown in a dashboard');
  const { createDashboard } = await import('../../../core/surfaces/dashboard/index.ts');
  const { actor } = actorOf(io.env);
  const handler = createDashboard(await session.client(), {
    development: { actor, ...development },
    ...(faults && { faults }),
  });
  const server = await serveDashboard(handler, given({ port, host }));
  return { ...server, link: () => handler.link(server.url) };
}

/** Calls `act` at each Enter, if stdin is a terminal. Returns a function that stops it. */
export function onEnter({ stdin, isTTY }: Input['io'], act: () => void): () => void {
  if (!isTTY.stdin) return () => {};
  const onData = (typed: unknown): void => {
    if (/[\r\n]/.test(String(typed))) act();
  };
  stdin.on('data', onData);
  return () => {
    stdin.off('data', onData);
    stdin.pause();
  };
}

/** @param options without a port it takes the default one, or the next free one */
export async function serveDashboard(
  handler: DashboardHandler,
  { port, ...options }: Partial<ServeOptions>,
): Promise<HttpServer> {
  const server =
    port === undefined ? await onFreePort(handler, options) : await serveHttp(handler, { ...options, port });
  return {
    ...server,
    close() {
      handler.close(); // ends its streams, for which the server would wait
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
