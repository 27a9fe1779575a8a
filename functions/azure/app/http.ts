/** Serves a fetch handler as a function with an HTTP trigger. */

import { createRequire } from 'node:module';
import { config, shown } from '../../../core/base/errors.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import type { TriggerMetadata } from './trigger.ts';

type FetchHandler = (request: Request) => Promise<Response>;

export interface AzureHttpOptions {
  /** Name of the function. */
  readonly name: string;
  /** The path below the `routePrefix` of host.json: `dashboard` answers `/api/dashboard` and all paths below it. */
  readonly route: string;
  /** Called at the first request, because a file that throws while it is loaded leaves the host without functions. */
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
    authLevel: 'anonymous', // the handler authorizes callers
    route: `${route}/{*path}`,
    handler: (request) => answerHttp(request, handler),
  });
}

/** Answers with the handler, which is created at the first request. */
export const answerHttp = async (
  request: HttpRequestLike,
  handler: () => Promise<FetchHandler>,
): Promise<HttpResponseInit> => resultOf(await (await handler())(await requestOf(request)));

async function requestOf(request: HttpRequestLike): Promise<Request> {
  const { method, url, headers } = request;
  const body = /^(GET|HEAD)$/i.test(method) ? null : await request.arrayBuffer();
  return new Request(url, { method, headers, ...(body && body.byteLength > 0 && { body }) });
}

async function resultOf(response: Response): Promise<HttpResponseInit> {
  // Compressed bytes are not text.
  const body = response.headers.has('content-encoding')
    ? new Uint8Array(await response.arrayBuffer())
    : await response.text();
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    ...(body.length > 0 && { body }),
  };
}

/* `app` of `@azure/functions` version 4, as far as Longshore uses it. Typed here, so that programs without its types compile. */

/** The context that the host passes to a function. */
export interface HostContext {
  readonly triggerMetadata?: TriggerMetadata | undefined;
  trace(text: string): void;
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

export interface HttpRequestLike {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  arrayBuffer(): Promise<ArrayBuffer>;
}

export interface HttpResponseInit {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array;
}

/** The part of `@azure/functions` that registers functions. */
export interface FunctionsApp {
  serviceBusQueue(
    name: string,
    options: {
      connection: string;
      queueName: string;
      cardinality: 'one';
      isSessionsEnabled?: true;
      autoCompleteMessages: true;
      handler: (message: unknown, context: HostContext) => Promise<void>;
    },
  ): void;
  timer(
    name: string,
    options: { schedule: string; handler: (timer: unknown, context: HostContext) => Promise<void> },
  ): void;
  http(
    name: string,
    options: {
      methods: ('GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS')[];
      authLevel: 'anonymous';
      route: string;
      handler: (request: HttpRequestLike, context: HostContext) => Promise<HttpResponseInit>;
    },
  ): void;
  readonly hook: { appTerminate(handler: () => Promise<void>): unknown };
}

/**
 * Throws `CONFIG` if `@azure/functions` has not found an existing host. It would register nothing and only print one line: the app would have no
 * functions, and its jobs would wait.
 * @param hook the result of `app.hook.appTerminate`
 */
export function checkHost(hook: unknown): void {
  if (typeof hook !== 'object' || hook === null) return;
  let host: { readonly Disposable: new () => object };
  try {
    host = createRequire(import.meta.url)('@azure/functions-core') as typeof host;
  } catch {
    return; // there is no host, as in a test
  }
  if (hook instanceof host.Disposable) return;
  throw config(
    'The package @azure/functions runs in its test mode, so no function was registered: in this bundle it cannot load @azure/functions-core. Leave @azure/functions-core external, and give an ESM bundle a require by the banner of docs/azure.md.',
  );
}

/** Loads synchronously, because functions must be registered while the app's file is loaded; and only for apps that call `azure()`. */
export function loadFunctions(): FunctionsApp {
  try {
    return (createRequire(import.meta.url)('@azure/functions') as typeof import('@azure/functions')).app;
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'MODULE_NOT_FOUND') throw error;
    throw config(
      'The package @azure/functions is not installed. Run npm install @azure/functions, or give azure() its app: { functions: app }.',
    );
  }
}
