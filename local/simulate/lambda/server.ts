/** An SQS in this process: fauxqs, which also has S3. */

import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { keepTraceHeaders } from './recursion.ts';

/** Rejects with `ERR_MODULE_NOT_FOUND` if fauxqs is not installed. */
export async function startLocalSqs() {
  const { buildApp } = await import('fauxqs');
  await allowAllCharacters();
  const app = buildApp({ logger: false });
  keepTraceHeaders(app);
  const url = await app.listen({ port: 0, host: '127.0.0.1' }); // startFauxqs() would listen on the network too
  return { url, stop: () => app.close() };
}

/** SQS accepts characters above U+FFFF. fauxqs 2.4.1 refuses them, because its pattern checks each half of a surrogate pair. */
export async function allowAllCharacters(): Promise<void> {
  const folder = dirname(fileURLToPath(import.meta.resolve('fauxqs')));
  const path = pathToFileURL(join(folder, 'sqs/sqsTypes.js')).href;
  const types: unknown = await import(/* @vite-ignore */ path).catch(() => null);
  const { INVALID_MESSAGE_BODY_CHAR: pattern } = (types ?? {}) as { INVALID_MESSAGE_BODY_CHAR?: RegExp };
  if (!pattern) return; // another version, which may be fixed
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the rule of SQS is about them
  const rule = /[^\x09\x0A\x0D\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
  pattern.test = (text) => rule.test(text);
}
