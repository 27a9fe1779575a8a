/** Reads a JSON body of limited size. */

import { Refusal } from './problem.ts';

const json = /^application\/(?:[\w.+-]+\+)?json$/i;
const parameter = /^\s*charset\s*=\s*"?utf-?8"?\s*$/i;

export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  checkType(request);
  const bytes = await readCapped(request, maxBytes);
  if (bytes.length === 0) throw malformed('a JSON body, got none. Send at least null or {}');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw malformed('a body in UTF-8, got other bytes. Encode it as UTF-8', cause);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The parser's message quotes the body, which must not be logged or echoed.
    throw malformed('a JSON body, got text that does not parse. Check it with a JSON linter', cause);
  }
}

function checkType(request: Request): void {
  const [type = '', ...parameters] = (request.headers.get('content-type') ?? '').split(';');
  const charsets = parameters.filter((text) => /^\s*charset\s*=/i.test(text));
  if (!json.test(type.trim()) || !charsets.every((text) => parameter.test(text))) {
    const got = type.trim() === '' ? 'none' : 'another';
    throw new Refusal(
      415,
      'REQUEST',
      `Expected the content type application/json in UTF-8, got ${got}. Send "Content-Type: application/json".`,
      { headers: { 'accept-post': 'application/json' } },
    );
  }
  const coding = request.headers.get('content-encoding') ?? 'identity';
  if (coding.toLowerCase() !== 'identity') {
    throw new Refusal(
      415,
      'REQUEST',
      'Expected a body without content coding, got a coded one. Send it uncompressed, without Content-Encoding.',
      { headers: { 'accept-encoding': 'identity' } },
    );
  }
}

/** Counts bytes while reading and leaves the rest unread, because `content-length` may be wrong. */
async function readCapped(request: Request, maxBytes: number): Promise<Uint8Array> {
  const claimed = request.headers.get('content-length');
  if (claimed !== null && !/^\d{1,16}$/.test(claimed)) {
    throw malformed(
      'a whole number as Content-Length, got something else. Leave the header to your HTTP client',
    );
  }
  if (Number(claimed) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // Does not cancel the body: some servers would then close the connection before the answer is sent.
    for await (const chunk of request.body?.values({ preventCancel: true }) ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    throw malformed('a whole body, but it ended early. Repeat the request', cause);
  }
  return Buffer.concat(chunks, size);
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal(
    413,
    'LIMIT',
    `Expected a body of at most ${maxBytes} bytes, got more. Store the data elsewhere and send its id, or send fewer jobs at once.`,
  );
}

function malformed(expected: string, cause?: unknown): Refusal {
  return new Refusal(400, 'REQUEST', `Expected ${expected}.`, { cause });
}
