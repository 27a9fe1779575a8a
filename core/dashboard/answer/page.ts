/** The files of the page, which Vite has built into a module: a bundler takes them along where a folder would stay behind. */

import { LongshoreError } from '../../base/errors.ts';
import { onDemand } from '../../kit/lazy.ts';
import { pageHeaders } from './headers.ts';

interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const load = onDemand(async (): Promise<ReadonlyMap<string, PageFile>> => {
  try {
    const { files } = await import('../built/page.js');
    return new Map(
      Object.entries(files).map(([path, { type, gzip }]) => [path, { type, bytes: fromBase64(gzip) }]),
    );
  } catch (cause) {
    throw new LongshoreError(
      'CONFIG',
      'The page of the dashboard is not built. Run `npm run build:dashboard` in the repository; an installed package has it.',
      { cause },
    );
  }
});

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(text, 'base64'));

/** Their names change with what is in them. */
const immutable = { 'cache-control': 'private, max-age=31536000, immutable' };

/** `null` = there is no such file. Throws `CONFIG` where the page is not built. */
export async function pageFile(path: string, request: Request): Promise<Response | null> {
  const isIndex = path === '';
  const file = (await load()).get(isIndex ? 'index.html' : path);
  if (!file || path === 'index.html') return null;
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(
    request.headers.get('accept-encoding') ?? '',
  );
  const headers = {
    ...pageHeaders,
    ...(isIndex ? {} : immutable),
    'content-type': file.type,
    vary: 'accept-encoding',
    ...(takesGzip && { 'content-encoding': 'gzip' }),
  };
  return new Response(takesGzip ? file.bytes : await unzipped(file.bytes), { headers });
}

async function unzipped(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const { gunzipSync } = await import('node:zlib');
  return Uint8Array.from(gunzipSync(bytes));
}
