/** Serves a fetch handler as a Lambda function with a URL or an HTTP API. */

import { config, shown } from '../../../core/base/errors.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { createHttpHandler, type HttpOptions } from '../../../core/surfaces/http/index.ts';
import type { HttpEvent, HttpResult } from './events.ts';

export async function answerHttp(
  event: unknown,
  handle: (request: Request) => Promise<Response>,
): Promise<HttpResult> {
  const request = requestOf(event);
  return request ? resultOf(await handle(request)) : notAllowed;
}

/** Methods that `Request` does not allow. */
const forbidden = /^(CONNECT|TRACE|TRACK)$/i;
const notAllowed: HttpResult = { statusCode: 405, headers: {}, body: '', isBase64Encoded: false };

/** `null` for a method that is never allowed. Throws `CONFIG` for an event that is not of format 2.0. */
function requestOf(event: unknown): Request | null {
  const { version, rawPath, rawQueryString, headers, cookies, body, isBase64Encoded, requestContext } =
    (event ?? {}) as Partial<HttpEvent>;
  if (version !== '2.0' || typeof rawPath !== 'string' || typeof requestContext?.http?.method !== 'string') {
    throw config(
      `Expected an event of a function URL or an HTTP API (payload format 2.0), got ${shown(event)}. A REST API has another format: use an HTTP API.`,
    );
  }
  const { domainName, http } = requestContext;
  if (forbidden.test(http.method)) return null;
  const given = new Headers();
  for (const [name, value] of Object.entries(headers ?? {})) if (value !== undefined) given.set(name, value);
  if (cookies) given.set('cookie', cookies.join('; '));
  const query = rawQueryString ? `?${rawQueryString}` : '';
  const hasBody = body !== undefined && body !== '' && !/^(GET|HEAD)$/i.test(http.method);
  return new Request(`https://${domainName}${rawPath}${query}`, {
    method: http.method,
    headers: given,
    ...(hasBody && { body: isBase64Encoded ? Buffer.from(body, 'base64') : body }),
  });
}

async function resultOf(response: Response): Promise<HttpResult> {
  // Compressed bytes are not text.
  const isBase64Encoded = response.headers.has('content-encoding');
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: isBase64Encoded
      ? Buffer.from(await response.arrayBuffer()).toString('base64')
      : await response.text(),
    isBase64Encoded,
  };
}

/** Jobs over HTTP. */
export function createEnqueueHandler(
  client: Client,
  options: HttpOptions,
): (event: unknown) => Promise<HttpResult> {
  const handle = createHttpHandler(client, { streamTimeoutMs: 0, ...options });
  return (event) => answerHttp(event, handle);
}
