/** Headers of all answers, and the answers that are no JSON object: a failure as an operator sees it, lines of progress, the page's files. */

import { gunzipSync } from 'node:zlib';
import { type ErrorCode, LongshoreError } from '../../../base/errors.ts';
import { onDemand } from '../../../base/lazy.ts';
import { securityHeaders } from '../../http/mount.ts';
import { problemOf, Refusal, refusalOf } from '../../http/problem.ts';

/** The page runs its own files and nothing else: no inline code, no other site, no frame around it. */
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

/** Vite has built them into a module: a bundler takes them along where a folder would stay behind. */
interface PageFile {
  readonly type: string;
  readonly text: string;
}

// Sent as they are: a host that compresses its answers does it for these too, and one that drops our header would break them.
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

/** @param from the last piece of the page's address, where that does not end with a slash: its files are below it all the same */
export async function page(from: string): Promise<Response> {
  const { type, text } = (await load()).get('index.html')!;
  const html = from === '' ? text : text.replaceAll('="./', `="./${from}/`);
  return new Response(html, { headers: { ...pageHeaders, 'content-type': type } });
}

/** Their names change with what is in them. */
const immutable = { 'cache-control': 'private, max-age=31536000, immutable' };

/** `null` = there is no such file. Throws `CONFIG` where the page is not built. */
export async function pageFile(path: string): Promise<Response | null> {
  const file = path === 'index.html' ? null : (await load()).get(path);
  return file
    ? new Response(file.text, { headers: { ...pageHeaders, ...immutable, 'content-type': file.type } })
    : null;
}
