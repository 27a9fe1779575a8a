/** Serves an HTTP handler on a port, with limits for slow clients, large requests and many connections. */

import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { checkInteger } from '../core/base/checks.ts';
import { config, shown } from '../core/base/errors.ts';
import { toError } from '../core/base/failure.ts';
import type { HttpHandler } from '../core/surfaces/http/index.ts';

export interface ServeOptions {
  /** 0 = any free port. */
  readonly port: number;
  /** Any address that is not loopback makes the server public. @default '127.0.0.1' */
  readonly host?: string;
  /** Time from the connection to the last header, in ms. @default 10_000 */
  readonly headersTimeoutMs?: number;
  /** Time from the connection to the last byte of the body, in ms. @default 30_000 */
  readonly requestTimeoutMs?: number;
  /** How long a connection stays open for another request, in ms. @default 5_000 */
  readonly keepAliveTimeoutMs?: number;
  /** How often the timeouts above are checked, in ms. @default 1_000 */
  readonly checkIntervalMs?: number;
  /** Size of all headers of a request together. @default 16_384 */
  readonly maxHeaderBytes?: number;
  /** Further connections are closed at once. @default 2_000 */
  readonly maxConnections?: number;
  /** How long `close()` waits for running requests, in ms. @default 5_000 */
  readonly drainMs?: number;
}

export interface HttpServer {
  /** Without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Accepts no new connections, waits for running requests up to `drainMs`, then closes the rest. May be called again. */
  close(): Promise<void>;
}

const loopback = ['127.0.0.1', '::1', 'localhost'];

/** Throws `CONFIG` for a wrong option, a port in use, or a public address for a handler in development. */
export async function serveHttp(handler: HttpHandler, options: ServeOptions): Promise<HttpServer> {
  const settings = settingsOf(handler, options);
  const { port, host, maxConnections, drainMs } = settings;
  let closing: Promise<void> | null = null;
  const { serve } = await import('srvx/node'); // loads node:http, which takes longer than all of Longshore
  const server = serve({
    port,
    hostname: host,
    silent: true,
    manual: true,
    gracefulShutdown: false, // the owner of the process handles its signals
    async fetch(request) {
      const response = await handler(request);
      const { req, res } = request.runtime!.node!;
      // A refused body is not read to its end, so the connection cannot be reused.
      if (closing || !req.complete) (res as ServerResponse).shouldKeepAlive = false;
      return response;
    },
    node: {
      headersTimeout: settings.headersTimeoutMs,
      requestTimeout: settings.requestTimeoutMs,
      keepAliveTimeout: settings.keepAliveTimeoutMs,
      connectionsCheckingInterval: settings.checkIntervalMs,
      maxHeaderSize: settings.maxHeaderBytes,
    },
  });
  const node = server.node!.server as Server;
  node.maxConnections = maxConnections;
  node.on('clientError', refuse);
  try {
    await server.serve();
  } catch (cause) {
    throw config(
      `Could not listen on ${host}:${port} (${toError(cause).message}). Choose another port, or stop the program that uses it.`,
    );
  }
  const address = node.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;

  async function drain(): Promise<void> {
    const timer = setTimeout(() => node.closeAllConnections(), drainMs);
    await new Promise((resolve) => node.close(resolve));
    clearTimeout(timer);
  }

  return {
    url: `http://${name}:${address.port}`,
    port: address.port,
    close() {
      closing ??= drain();
      return closing;
    },
  };
}

const defaults = {
  host: '127.0.0.1',
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  checkIntervalMs: 1_000,
  maxHeaderBytes: 16_384,
  maxConnections: 2_000,
  drainMs: 5_000,
};

function settingsOf(handler: HttpHandler, options: ServeOptions): Required<ServeOptions> {
  const settings = { ...defaults, ...options };
  const { port, host } = settings;
  checkInteger('port of the HTTP server', port, 0);
  if (port > 65_535) throw config(`Expected port of the HTTP server to be at most 65535, got ${port}.`);
  for (const name of Object.keys(defaults) as (keyof typeof defaults)[]) {
    if (name !== 'host') checkInteger(`${name} of the HTTP server`, settings[name], 1);
  }
  if (typeof host !== 'string' || host === '') {
    throw config(`Expected host of the HTTP server to be an address, got ${shown(host)}.`);
  }
  if (settings.headersTimeoutMs > settings.requestTimeoutMs) {
    throw config(
      'Expected headersTimeoutMs to be at most requestTimeoutMs: the headers are part of the request.',
    );
  }
  // Also refuses a function that createHttpHandler() did not make, because it might not check credentials.
  if (!loopback.includes(host) && handler.developmentToken !== null) {
    throw config(
      `Expected a loopback host for a handler in development, got ${shown(host)}. Give createHttpHandler() apiKeys or authorize to serve others.`,
    );
  }
  return settings;
}

const statusOf: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Answers an error before there is a request: the parser or a timeout refused it. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || socket.destroyed || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = statusOf[error.code ?? ''] ?? 400;
  const title = process.getBuiltinModule('node:http').STATUS_CODES[status];
  const detail =
    status === 408
      ? 'The request took too long. Send it without pauses.'
      : status === 431
        ? 'The headers are too large. Put data into the body.'
        : 'Expected a request in HTTP/1.1, got something else. Use an HTTP client.';
  const body = JSON.stringify({
    type: 'urn:longshore:error:REQUEST',
    title,
    status,
    detail,
    code: 'REQUEST',
  });
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    'Connection: close',
    'Content-Type: application/problem+json',
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
