/** Jobs over HTTP: a function URL or an HTTP API in front of `core/http/index.ts`. */

import type { Client } from '../../../core/enqueue/client.ts';
import { createHttpHandler, type HttpOptions } from '../../../core/http/index.ts';
import type { HttpResult } from './events.ts';
import { requestOf, resultOf } from './http-event.ts';

export function createEnqueueHandler(
  client: Client,
  options: HttpOptions,
): (event: unknown) => Promise<HttpResult> {
  // Not before the first request: a function that only runs jobs need not say who may call.
  let handle: ReturnType<typeof createHttpHandler> | null = null;
  return async (event) => {
    const request = requestOf(event);
    handle ??= createHttpHandler(client, options);
    return resultOf(await handle(request));
  };
}
