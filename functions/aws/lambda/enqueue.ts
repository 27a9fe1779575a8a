/** Jobs over HTTP, as Lambda passes it to a function with a URL or an HTTP API. */

import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { createHttpHandler, type HttpOptions } from '../../../core/surfaces/http/index.ts';
import type { HttpResult } from './events.ts';
import { answerHttp } from './http.ts';

export function createEnqueueHandler(
  client: Client,
  options: HttpOptions,
): (event: unknown) => Promise<HttpResult> {
  // Created with the first request: a function that only runs jobs need not configure who may call.
  let handle: ReturnType<typeof createHttpHandler> | null = null;
  return (event) =>
    answerHttp(event, (request) => {
      handle ??= createHttpHandler(client, options);
      return handle(request);
    });
}
