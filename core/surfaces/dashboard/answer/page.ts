/** The files of the page, which Vite has built into a module: a bundler takes them along where a folder would stay behind. */

import { gunzipSync } from 'node:zlib';
import { LongshoreError } from '../../../base/errors.ts';
import { onDemand } from '../../../base/lazy.ts';
import { pageHeaders } from './responses.ts';

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
