/** Whatever speaks fetch, as the host calls a function with an HTTP trigger. */

import { config, shown } from '../../../core/base/errors.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import { type FunctionsApp, type HttpRequestLike, type HttpResponseInit, loadFunctions } from './host.ts';

type FetchHandler = (request: Request) => Promise<Response>;

export interface AzureHttpOptions {
  /** Of the function. */
  readonly name: string;
  /** Below the `routePrefix` of host.json: `dashboard` answers `/api/dashboard` and what is below it. */
  readonly route: string;
  /** Called with the first request: a file that throws while it is loaded leaves the host without functions. */
  readonly create: () => FetchHandler | Promise<FetchHandler>;
  /** `app` of `@azure/functions`, where a bundler must see the import. @default loaded from the installed package */
  readonly functions?: FunctionsApp;
}

/** Registers a function of a fetch handler, such as `dashboard()` of `longshore/dashboard` with `streams: false`. */
export function azureHttp(options: AzureHttpOptions): void {
  const { name, route, create, functions = loadFunctions() } = options;
  if (typeof route !== 'string' || !/^[\w-]+(\/[\w-]+)*$/.test(route))
    throw config(`Expected route of azureHttp() to be like "dashboard", got ${shown(route)}.`);
  const handler = onDemand(async () => create());
  functions.http(name, {
    methods: ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'],
    authLevel: 'anonymous', // the handler decides who may call
    route: `${route}/{*path}`,
    handler: async (request) => resultOf(await (await handler())(await requestOf(request))),
  });
}

export async function requestOf(request: HttpRequestLike): Promise<Request> {
  const { method, url, headers } = request;
  const body = /^(GET|HEAD)$/i.test(method) ? null : await request.arrayBuffer();
  return new Request(url, { method, headers, ...(body && body.byteLength > 0 && { body }) });
}

export async function resultOf(response: Response): Promise<HttpResponseInit> {
  // Compressed bytes are no text.
  const body = response.headers.has('content-encoding')
    ? new Uint8Array(await response.arrayBuffer())
    : await response.text();
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    ...(body.length > 0 && { body }),
  };
}
