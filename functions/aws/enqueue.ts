/** Jobs over HTTP: a function URL or an HTTP API in front of `core/http.ts`. */

import type { Client } from '../../core/client.ts';
import type { HttpHandler, HttpOptions } from '../../core/http.ts';
import { type HttpResult, requestOf, resultOf } from './events.ts';

export function createEnqueueHandler(
  client: Client,
  options: HttpOptions,
): (event: unknown) => Promise<HttpResult> {
  let handler: Promise<HttpHandler> | null = null;
  return async (event) => {
    const request = requestOf(event);
    // On demand: the worker of the same bundle answers no requests.
    handler ??= import('../../core/http.ts').then(({ createHttpHandler }) =>
      createHttpHandler(client, options),
    );
    return resultOf(await (await handler)(request));
  };
}
