/** Serves the metrics of `startLocal()`: with the routes of its `http`, or on a separate port. */

import { config, shown } from '../../core/base/errors.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
import { createHttpHandler, type HttpHandler, type HttpOptions } from '../../core/surfaces/http/index.ts';
import { refuseOtherHosts } from '../../core/surfaces/http/mount.ts';
import { type HttpServer, type ServeOptions, serveHttp } from '../serve.ts';
import { type Metrics, metrics } from './index.ts';
import type { MetricsOptions } from './registrar.ts';

/**
 * Without `port`, `GET /metrics` is one of the routes of `http`, for callers that are not restricted to a tenant or a job. With `port`, the
 * metrics have a separate server: on a loopback address it needs no credential, on any other address it does.
 */
export interface LocalMetricsOptions
  extends MetricsOptions,
    Partial<ServeOptions>,
    Pick<HttpOptions, 'apiKeys' | 'authorize'> {}

interface LocalMetrics {
  readonly metrics: Metrics;
  /** `null` = the metrics are one of the routes of `http`. */
  readonly server: HttpServer | null;
  close(): Promise<void>;
}

/** Throws `CONFIG` for a wrong option, a port in use, or a public address without a credential. */
export async function startMetrics(
  client: Client,
  options: LocalMetricsOptions,
  hasHttp: boolean,
): Promise<LocalMetrics> {
  if (typeof options !== 'object' || options === null)
    throw config(
      `Expected metrics to be true, false or options such as { port: 9464 }, got ${shown(options)}.`,
    );
  const { port, host, apiKeys, authorize } = options;
  if (port === undefined) {
    const misplaced = Object.entries({ host, apiKeys, authorize }).find(([, value]) => value !== undefined);
    if (misplaced)
      throw config(
        `Option ${misplaced[0]} of metrics needs the option port. Without a port of their own, http decides who may read the metrics.`,
      );
    if (!hasHttp)
      throw config('metrics needs a port, such as { port: 9464 }, or the option http. Neither was given.');
  }
  const made = metrics(client, options);
  try {
    const server = port === undefined ? null : await serveAlone(client, made, { ...options, port });
    return {
      metrics: made,
      server,
      async close() {
        await server?.close();
        made.close(); // last, so that a running scrape is complete
      },
    };
  } catch (error) {
    made.close();
    throw error;
  }
}

/** The only routes of the HTTP handler that this server has. */
const paths = ['/metrics', '/healthz'];

/** @param isUp decides what `/healthz` answers */
export function serveAlone(
  client: Client,
  made: Pick<Metrics, 'text' | 'contentType'>,
  options: LocalMetricsOptions & ServeOptions,
  isUp = () => true,
): Promise<HttpServer> {
  const { apiKeys, authorize, host = '127.0.0.1' } = options;
  const isOpen = apiKeys === undefined && authorize === undefined;
  if (isOpen && !['127.0.0.1', '::1', 'localhost'].includes(host)) {
    throw config(
      `Expected a loopback host for metrics without a credential, got ${shown(host)}. Give metrics apiKeys or authorize to serve others.`,
    );
  }
  const handler = createHttpHandler(client, {
    ...(apiKeys && { apiKeys }),
    ...(authorize && { authorize }),
    ...(isOpen && { authorize: () => ({ tenantId: null }) }),
    rateLimit: false,
    metrics: made,
  });
  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (!paths.includes(url.pathname)) return plain(404, `Expected a path of ${paths.join(' and ')}.`);
    if (url.pathname === '/healthz' && !isUp()) return plain(503, 'No worker runs.');
    if (isOpen && !isForHere(request, url))
      return plain(403, 'Expected the host localhost, 127.0.0.1 or [::1]: there is no credential.');
    return handler(request);
  }
  const only: HttpHandler = Object.assign(answer, { developmentToken: null });
  return serveHttp(only, { drainMs: 1_000, ...options });
}

const plain = (status: number, text: string) => new Response(`${text}\n`, { status });

/** Refuses DNS rebinding: a web page whose name now points to this machine still sends its own host name. */
function isForHere(request: Request, url: URL): boolean {
  try {
    refuseOtherHosts(request, url);
    return true;
  } catch {
    return false;
  }
}
