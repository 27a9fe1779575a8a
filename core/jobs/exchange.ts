/** One request and its answer, to addresses that were checked before. Follows nothing and judges no status. */

import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { PermanentError } from '../base/errors.ts';
import { type Address, bare, portOf, shownUrl } from './targets.ts';

export interface Hop {
  readonly url: URL;
  readonly method: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Stands in messages for the URL, where that is a secret. */
  readonly name?: string;
}

export interface ResponseLimits {
  readonly maxResponseBytes: number;
  readonly maxHeaderBytes: number;
  /** How much of a successful body is handed on; 0 = nothing. */
  readonly keepBytes: number;
}

export type Answer = Awaited<ReturnType<typeof read>>;

// Agents of our own: the global ones follow NODE_USE_ENV_PROXY, and a proxy would resolve the name again. Nothing
// is kept alive, so no connection outlives the check of its address.
const agent = new Agent({ keepAlive: false });
const secureAgent = new SecureAgent({ keepAlive: false, maxCachedSessions: 0 });

/** `onConnect` is called when the connection stands, TLS included. Rejects with the signal's reason once it aborts. */
export async function exchange(
  hop: Hop,
  addresses: readonly Address[],
  limits: ResponseLimits,
  signal: AbortSignal,
  onConnect: () => void,
): Promise<Answer> {
  signal.throwIfAborted();
  const request = open(hop, addresses, limits, signal);
  request.once('socket', (socket) =>
    socket.once(hop.url.protocol === 'https:' ? 'secureConnect' : 'connect', onConnect),
  );
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve);
      request.on('error', reject); // stays: a late error must not end the process
      request.once('close', () => reject(new Error('closed without a response')));
      request.end(hop.body ?? undefined);
    });
    response.on('error', () => {}); // the same, for a body that is not read to its end
    const answer = await read(response, hop, limits);
    // A body without a length looks complete when our own signal has cut it.
    signal.throwIfAborted();
    return answer;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof PermanentError ? error : networkError(hop, error, limits);
  } finally {
    request.destroy();
  }
}

function open(
  { url, method, headers, body }: Hop,
  addresses: readonly Address[],
  limits: ResponseLimits,
  signal: AbortSignal,
): ClientRequest {
  const host = bare(url.hostname);
  const options = {
    method,
    host,
    port: portOf(url),
    path: url.pathname + url.search,
    headers: {
      ...headers,
      host: url.host,
      'accept-encoding': 'identity',
      connection: 'close',
      ...(body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    },
    // The name is not resolved a second time: between two answers of a DNS server lies a whole attack.
    lookup: pinned(addresses),
    maxHeaderSize: limits.maxHeaderBytes,
    insecureHTTPParser: false,
    signal,
  };
  if (url.protocol === 'http:') return requestHttp({ ...options, agent });
  return requestHttps({
    ...options,
    agent: secureAgent,
    servername: isIP(host) === 0 ? host : '',
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
  });
}

function pinned(addresses: readonly Address[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first!.address, first!.family);
  };
}

async function read(response: IncomingMessage, hop: Hop, limits: ResponseLimits) {
  const { statusCode: status = 0, headers } = response;
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let bytes = 0;
  if (status >= 200 && status < 300) {
    if (hop.method !== 'HEAD' && Number(headers['content-length']) > limits.maxResponseBytes)
      throw tooLarge(hop, limits);
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > limits.maxResponseBytes) throw tooLarge(hop, limits);
      if (keptBytes >= limits.keepBytes) continue;
      kept.push(chunk.subarray(0, limits.keepBytes - keptBytes));
      keptBytes += chunk.length;
    }
  }
  return {
    status,
    location: headers.location,
    retryAfter: headers['retry-after'],
    /** Read of the body; the body of an answer that is no success is not read. */
    bytes,
    kept: Buffer.concat(kept),
    /** Not `identity`: what was kept is not text. */
    encoded: (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity',
  };
}

/** Permanent: the receiver has done its work, so asking again would have it done twice. */
function tooLarge(hop: Hop, { maxResponseBytes }: ResponseLimits): PermanentError {
  return new PermanentError(
    `${label(hop)} answered with more than ${maxResponseBytes} bytes. Raise maxResponseBytes if that is right.`,
  );
}

/** Only the error's code: its message and its properties can hold what was sent or received. */
function networkError(hop: Hop, error: unknown, { maxHeaderBytes }: ResponseLimits): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new PermanentError(
      `${label(hop)} answered with more than ${maxHeaderBytes} bytes of headers. Raise maxHeaderBytes if that is right.`,
    );
  }
  return new Error(`${label(hop)} failed: ${typeof code === 'string' ? code : 'the connection broke'}.`);
}

export const label = ({ method, url, name }: Pick<Hop, 'method' | 'url' | 'name'>): string =>
  name ?? `${method} ${shownUrl(url)}`;
