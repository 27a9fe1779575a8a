/**
 * Connections to one server. A broken connection is never repaired: it is dropped, and the next call opens another, so no worker
 * can be stuck while reconnecting. A connection that stays silent while commands are unanswered counts as broken.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { config, type ErrorCode, LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import { optional } from '../../../core/base/optional.ts';
import { createWatch } from '../../watch.ts';

/**
 * Not `createClient`: its class has a method per command, which costs 25 MB and 90 ms, and Longshore uses none of them. The driver is imported
 * at the first connection, so an app that lacks it hears which package to install.
 */
async function make(settings: object) {
  const { RedisClient: Client } = await import('@redis/client').catch(optional('@redis/client'));
  try {
    return new Client({ ...settings, RESP: 2 });
  } catch {
    throw wrongUrl(); // the driver's own error may repeat the URL with its password
  }
}
export type RedisClient = Awaited<ReturnType<typeof make>>;

/** Options of `createClient` from `@redis/client`, without the URL, such as `{ username, password, socket: { tls: true, ca } }`. */
export interface RedisConnectionOptions {
  readonly username?: string;
  readonly password?: string;
  readonly database?: number;
  readonly socket?: object;
}

export interface LinkOptions extends RedisConnectionOptions {
  readonly url: string;
  /** The connection is dropped when a command is unanswered for this time. */
  readonly silenceMs: number;
  /** Runs on every new connection before it is used. */
  greet?(client: RedisClient): Promise<void>;
  /** The connection was dropped. */
  lost?(): void;
}

const connectTimeoutMs = 5_000;
/** `close()` cuts the connection `closeTimeoutMs` after the last answer, but not before `leastTimeoutMs`. */
const closeTimeoutMs = 1_000;
const leastTimeoutMs = 50;
const closedError = new Error('the backend was closed');

export function createLink(options: LinkOptions) {
  const { url, silenceMs, greet, lost, socket, ...rest } = options;
  const settings = {
    ...rest,
    url,
    maintNotifications: 'disabled',
    disableOfflineQueue: true,
    // By default every command gets an AbortSignal with a timer: half of the cost of a small command.
    commandOptions: { timeout: 0 },
    socket: { connectTimeout: connectTimeoutMs, ...socket, reconnectStrategy: false },
  };
  checkUrl(url);
  const silenceError = new Error(`the server has not answered for ${silenceMs} ms`);
  /** Why a client was dropped. */
  const reasons = new WeakMap<RedisClient, Error>();
  let current: RedisClient | null = null;
  /** Not yet greeted. */
  let fresh: RedisClient | null = null;
  let connecting: Promise<RedisClient> | null = null;
  let closed = false;
  /** Commands without an answer yet, and the tick and time of the last answer. */
  let owed = 0;
  let silentSince = 0;
  let silentAt = 0;
  const watch = createWatch(silenceMs, (lateBefore) => {
    if (owed > 0 && silentSince < lateBefore && current) dropClient(current, silenceError);
    return owed > 0;
  });

  async function connect(): Promise<RedisClient> {
    const client = await make(settings);
    if (closed) throw redisError('connecting', closedError);
    fresh = client;
    client.on('error', (error) => dropClient(client, error)); // without a listener the error would end the process
    // A server may accept the connection and then stay silent.
    const late = setTimeout(dropClient, silenceMs, client, silenceError);
    try {
      await client.connect();
      await greet?.(client);
      // `greet` ignores refused commands, so it may not notice a broken connection.
      const reason = reasons.get(client);
      if (reason) throw reason;
    } catch (error) {
      discard(client);
      throw redisError('connecting', reasons.get(client) ?? error);
    } finally {
      clearTimeout(late);
      fresh = null;
    }
    current = client;
    return client;
  }

  function dropClient(client: RedisClient, reason: Error): void {
    if (current !== client && fresh !== client) return;
    reasons.set(client, reason);
    discard(client);
    if (current !== client) return;
    current = null;
    lost?.();
  }

  function begin(): void {
    if (owed++ === 0) hear();
    watch.start();
  }

  function answered(): void {
    owed--;
    hear();
  }

  function hear(): void {
    silentSince = watch.tick;
    silentAt = performance.now();
  }

  async function ask<T>(during: string, question: (client: RedisClient) => Promise<T>): Promise<T> {
    const client = current ?? (await open());
    begin();
    try {
      return await question(client);
    } catch (error) {
      if (isReadOnly(error)) dropClient(client, error as Error);
      // The driver rejects commands under way with "disconnected" only, so the reason is kept here.
      throw redisError(during, reasons.get(client) ?? error);
    } finally {
      answered();
    }
  }

  /** A connected client; rejects at once when the server cannot be reached. */
  async function open(): Promise<RedisClient> {
    if (current) return current;
    if (closed) throw redisError('connecting', closedError);
    connecting ??= connect().finally(() => {
      connecting = null;
    });
    return connecting;
  }

  /** `during` names the work in the error. */
  const send = (during: string, args: readonly string[]): Promise<unknown> =>
    ask(during, (client) => client.sendCommand(args));

  return {
    client: open,
    send,
    /** Needs a connection of its own, which can then only PING. */
    subscribe: (channels: string[], listener: (message: string, channel: string) => void): Promise<void> =>
      ask('listening', (client) => client.subscribe(channels, listener)),
    async run(during: string, { sha, text }: Script, key: string, args: readonly string[]): Promise<unknown> {
      try {
        return await send(during, ['EVALSHA', sha, '1', key, ...args]);
      } catch (error) {
        if (!isUnknownScript((error as Error).cause)) throw error;
        return send(during, ['EVAL', text, '1', key, ...args]);
      }
    },
    /** Drops the connection; calls under way fail. */
    drop(): void {
      if (current) dropClient(current, new Error('the connection was dropped'));
    },
    async close(): Promise<void> {
      closed = true;
      watch.stop();
      if (fresh) dropClient(fresh, closedError);
      const client = current;
      current = null;
      if (!client) return;
      const leftMs = silentAt + closeTimeoutMs - performance.now();
      const late = setTimeout(discard, Math.max(leastTimeoutMs, leftMs), client);
      await client.close().catch(() => discard(client));
      clearTimeout(late);
    },
  };
}

function discard(client: RedisClient): void {
  try {
    client.destroy();
  } catch {
    // already closed
  }
}

/** The error does not repeat the URL, which may hold a password. */
function checkUrl(url: string): void {
  try {
    if (!/^rediss?:\/\/[^#]*$/.test(url)) throw new Error();
    const { password, pathname } = new URL(url);
    decodeURIComponent(password);
    if (!/^\/?\d*$/.test(pathname)) throw new Error(); // the number of a database
  } catch {
    throw wrongUrl();
  }
}

const wrongUrl = (): LongshoreError =>
  config(
    'redis() expects a URL like redis://user:password@host:6379/0 (rediss:// for TLS), got another. In the password, write characters such as # and / as %23 and %2F.',
  );

/** Patterns in errors of Redis or its connection, each with our code and advice. */
const meanings: readonly (readonly [sign: RegExp, code: ErrorCode, advice: string])[] = [
  [
    /\bOOM\b/,
    'STORAGE_FULL',
    'Raise maxmemory, or let workers drain the queue: workers still fetch and settle.',
  ],
  [/\bMISCONF\b/, 'STORAGE_FULL', 'Redis cannot write to its disk: free space there, and read its log.'],
  [/\bREADONLY\b/, 'READ_ONLY', 'Connect to the primary, not to a replica.'],
  [/\b(NOAUTH|WRONGPASS)\b/, 'CONFIG', 'Check the user and password in the URL.'],
  [/\bNOPERM\b/, 'CONFIG', 'Grant this user the keys, channels and commands that docs/backends.md lists.'],
  [/\b(CROSSSLOT|MOVED|CLUSTERDOWN)\b/, 'CONFIG', 'Connect to a server that is not part of a Redis Cluster.'],
  [/\bWRONGTYPE\b/, 'CORRUPT', 'Something else writes to these keys: give each program a prefix of its own.'],
  [/\bBUSY\b/, 'BACKEND', 'A script of another program keeps Redis busy; SCRIPT KILL ends it.'],
  [/\bLOADING\b/, 'BACKEND', 'Redis is reading its data and will be ready soon.'],
  [/\bECONNREFUSED\b/, 'BACKEND', 'Check that the server runs, and its host and port.'],
  [/\bENOTFOUND\b/, 'BACKEND', 'Check the name of the host.'],
];

/** Turns a driver's error into a `LongshoreError`. Messages of the server and the driver contain no password and no payload. */
function redisError(during: string, cause: unknown): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const text = textOf(cause);
  const [, code, advice] = meanings.find(([sign]) => sign.test(text)) ?? [null, 'BACKEND' as const, ''];
  const whole = `Redis failed during ${during}: ${text}`;
  const sentence = /[.!?]$/.test(whole) ? whole : `${whole}.`;
  return new LongshoreError(code, advice === '' ? sentence : `${sentence} ${advice}`, { cause });
}

function textOf(cause: unknown): string {
  const { message } = toError(cause);
  const { code } = (cause ?? {}) as { code?: unknown };
  return message || (typeof code === 'string' ? code : 'the connection was lost');
}

/** Redis has lost the script: it was restarted, or its scripts were flushed. */
const isUnknownScript = (error: unknown): boolean => /^NOSCRIPT\b/.test(textOf(error));

/** The server has become a replica: only a new connection finds the primary. */
const isReadOnly = (error: unknown): boolean => /\bREADONLY\b/.test(textOf(error));

/** The user lacks the right to this command, or a hosted server does not have it. */
export const isRefused = (error: unknown): boolean => /\bNOPERM\b|unknown command/i.test(textOf(error));

/** Redis caches compiled scripts. If the server has lost one, its text is sent again. */
export interface Script {
  readonly text: string;
  /** For EVALSHA. */
  readonly sha: string;
}

/** @param parts files, or their texts: a release replaces the URLs with texts, so that a bundle needs no files */
function load(...parts: readonly (URL | string)[]): Script {
  const text = parts.map((part) => (typeof part === 'string' ? part : readFileSync(part, 'utf8'))).join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

// Each URL is written out, so that infra/release/code.ts finds it.
const clock = new URL('./clock.lua', import.meta.url);
const jobs = [clock, new URL('./groups.lua', import.meta.url), new URL('./jobs.lua', import.meta.url)];

export const scripts = {
  enqueue: load(clock, new URL('./enqueue.lua', import.meta.url)),
  grouped: load(...jobs, new URL('./grouped.lua', import.meta.url)),
  lease: load(...jobs, new URL('./lease.lua', import.meta.url)),
  manage: load(...jobs, new URL('./manage.lua', import.meta.url), new URL('./look.lua', import.meta.url)),
  transfer: load(...jobs, new URL('./transfer.lua', import.meta.url)),
  keys: load(clock, new URL('./keys.lua', import.meta.url)),
  limits: load(clock, new URL('./limits.lua', import.meta.url)),
  texts: load(new URL('./texts.lua', import.meta.url)),
  batches: load(clock, new URL('./batches.lua', import.meta.url)),
};
