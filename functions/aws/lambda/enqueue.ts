/** Jobs over HTTP: serves a function URL or an HTTP API with `core/http/index.ts`. */

import type { Client } from '../../../core/enqueue/client.ts';
import { createHttpHandler, type HttpOptions } from '../../../core/http/index.ts';
import type { HttpResult } from './events.ts';
import { requestOf, resultOf } from './http-event.ts';

export function createEnqueueHandler(
  client: Client,
  options: HttpOptions,
): (event: unknown) => Promise<HttpResult> {
  // Created with the first request: a function that only runs jobs need not configure who may call.
  let handle: ReturnType<typeof createHttpHandler> | null = null;
  return async (event) => {
    const request = requestOf(event);
    handle ??= createHttpHandler(client, options);
    return resultOf(await handle(request));
  };
}
