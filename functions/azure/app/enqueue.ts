/** Jobs over HTTP: serves an HTTP trigger with `core/surfaces/http/index.ts`. */

import { onDemand } from '../../../core/base/lazy.ts';
import type { HttpOptions } from '../../../core/surfaces/http/index.ts';
import type { HostContext, HttpRequestLike, HttpResponseInit } from './host.ts';
import { requestOf, resultOf } from './http.ts';
import type { Running } from './instance.ts';

export function createEnqueueHandler(
  running: Running,
  options: HttpOptions,
): (request: HttpRequestLike, context: HostContext) => Promise<HttpResponseInit> {
  const handler = onDemand(async () => {
    const { client } = running.start();
    const { createHttpHandler } = await import('../../../core/surfaces/http/index.ts');
    return createHttpHandler(client, options);
  });
  return (request, context) =>
    running.within(context, async () => resultOf(await (await handler())(await requestOf(request))));
}
