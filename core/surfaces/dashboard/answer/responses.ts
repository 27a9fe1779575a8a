/** Headers of all answers, and the answers that are no JSON object: a failure as an operator sees it, lines of progress, a page of words. */

import { type ErrorCode, LongshoreError } from '../../../base/errors.ts';
import { securityHeaders } from '../../http/headers.ts';
import { problemOf, Refusal, refusalOf } from '../../http/problem.ts';

/** The page runs its own files and nothing else: no inline code, no other site, no frame around it. */
const pagePolicy = [
  "default-src 'none'",
  ...['script-src', 'style-src', 'connect-src'].map((name) => `${name} 'self'`),
  "img-src 'self' data:",
  ...['frame-ancestors', 'base-uri', 'form-action'].map((name) => `${name} 'none'`),
].join('; ');

export const apiHeaders: Readonly<Record<string, string>> = securityHeaders;

export const pageHeaders: Readonly<Record<string, string>> = {
  ...securityHeaders,
  'content-security-policy': pagePolicy,
  'cross-origin-opener-policy': 'same-origin',
};

/** Those whose message says what keeps this job from being changed as it is, and what to mend. */
const statuses: Partial<Readonly<Record<ErrorCode, number>>> = {
  ENVELOPE: 409,
  PAYLOAD_STORE: 409,
  SIGNATURE: 409,
  UNKNOWN_KEY: 409,
  WRONG_QUEUE: 409,
  EXPIRED: 409,
  CONFLICT: 409,
  NOT_FOUND: 404,
  CONFIG: 500,
};

export function refusalFor(error: unknown): Refusal {
  const refusal = refusalOf(error);
  if (error instanceof Refusal || !(error instanceof LongshoreError)) return refusal;
  const { code, message, issues } = error;
  const status = statuses[code] ?? (refusal.code === code ? refusal.status : null);
  if (status === null) return refusal;
  return new Refusal(status, code, message, {
    headers: refusal.headers,
    cause: error,
    ...(issues && { issues }),
  });
}

type Work = (signal: AbortSignal, onProgress: (progress: object) => void) => Promise<object>;

/** `work` is told to end when nobody reads any more. A failure is the last line: the status was sent before. */
export function ndjson(request: Request, work: Work): Response {
  const encoder = new TextEncoder();
  const ended = new AbortController();
  const signal = AbortSignal.any([request.signal, ended.signal]);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (value: object): void => {
        if (!ended.signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
      };
      void work(signal, write)
        .then(write, (error) => write(problemOf(refusalFor(error))))
        .then(() => {
          if (!ended.signal.aborted) controller.close();
        });
    },
    cancel: () => ended.abort(),
  });
  return new Response(body, { headers: { ...apiHeaders, 'content-type': 'application/x-ndjson' } });
}

export function wordsOf({ status, message, headers }: Refusal): Response {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Longshore</title>
<h1>${titles[status] ?? 'The dashboard cannot be shown'}</h1>
<p>${escaped(message)}</p>
</html>
`;
  return new Response(html, {
    status,
    headers: { ...apiHeaders, ...headers, 'content-type': 'text/html; charset=utf-8' },
  });
}

const titles: Readonly<Record<number, string>> = {
  401: 'You are not signed in here',
  403: 'This is not let in',
  404: 'Nothing is here',
  410: 'This link is over',
};

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => entities[one]!);
