import type { HttpResult } from './events.ts';

/**
 * A Lambda function of a fetch handler, such as `dashboard()` of `longshore/dashboard` with `streams: false`: for a function URL or
 * an HTTP API.
 */
export const lambdaHttp =
  (handle: (request: Request) => Promise<Response>): ((event: unknown) => Promise<HttpResult>) =>
  async (event) =>
    (await import('./http.ts')).answerHttp(event, handle);
