/** Headers of all answers, and the answers that are not a JSON object: errors, progress lines and the files of the page. */

import { gunzipSync } from 'node:zlib';
import { type ErrorCode, LongshoreError } from '../../../base/errors.ts';
import { onDemand } from '../../../base/lazy.ts';
import { securityHeaders } from '../../http/mount.ts';
import { problemOf, Refusal, refusalOf } from '../../http/problem.ts';

/** The page loads its own files only. No inline code, no other site, no framing. */
const pagePolicy = [
  "default-src 'none'",
  ...['script-src', 'style-src', 'connect-src'].map((name) => `${name} 'self'`),
  "img-src 'self' data:",
  ...['frame-ancestors', 'base-uri', 'form-action'].map((name) => `${name} 'none'`),
].join('; ');

export const apiHeaders: Readonly<Record<string, string>> = securityHeaders;

const pageHeaders: Readonly<Record<string, string>> = {
  ...securityHeaders,
  'content-security-policy': pagePolicy,
  'cross-origin-opener-policy': 'same-origin',
};

/** Statuses of errors whose message is shown to the operator: it says why the change failed and what to do. */
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

/** Aborts the signal of `work` when the client disconnects. A failure is sent as the last line, because the status is sent first. */
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
  403: 'Access denied',
  404: 'Nothing is here',
  410: 'This link has expired',
};

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => entities[one]!);

/** The files are built into a module, because bundlers include a module and leave a folder out. */
interface PageFile {
  readonly type: string;
  readonly text: string;
}

// Sent uncompressed. A host may compress its answers itself, and one that drops our `content-encoding` would break them.
const load = onDemand(async (): Promise<ReadonlyMap<string, PageFile>> => {
  try {
    const { files } = await import('../built/page.js');
    return new Map(
      Object.entries(files).map(([path, { type, gzip }]) => [path, { type, text: unzipped(gzip) }]),
    );
  } catch (cause) {
    throw new LongshoreError(
      'CONFIG',
      'The page of the dashboard is not built. Run `npm run build:dashboard` in the repository; an installed package has it.',
      { cause },
    );
  }
});

const unzipped = (base64: string): string => gunzipSync(Buffer.from(base64, 'base64')).toString();

/** @param from the last path segment of an address without a trailing slash: the links to files are then relative to it */
export async function page(from: string): Promise<Response> {
  const { type, text } = (await load()).get('index.html')!;
  const html = from === '' ? text : text.replaceAll('="./', `="./${from}/`);
  return new Response(html, { headers: { ...pageHeaders, 'content-type': type } });
}

/** File names change with the content, so files can be cached for ever. */
const immutable = { 'cache-control': 'private, max-age=31536000, immutable' };

/** `null` = no such file. Throws `CONFIG` if the page is not built. */
export async function pageFile(path: string): Promise<Response | null> {
  const file = path === 'index.html' ? null : (await load()).get(path);
  return file
    ? new Response(file.text, { headers: { ...pageHeaders, ...immutable, 'content-type': file.type } })
    : null;
}
