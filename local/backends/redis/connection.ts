/**
 * Connections to one server. A broken one is never mended: it is thrown away, and the next call makes another, so there is no
 * state of reconnecting in which a worker could be stuck. One that owes answers and is silent counts as broken.
 */

import { RedisClient as Client } from '@redis/client';
import { config } from '../../../core/base/errors.ts';
import { createWatch } from '../../watch.ts';
import { isReadOnly, isUnknownScript, redisError } from './errors.ts';
import type { Script } from './scripts.ts';

/** What is used of a client of `@redis/client`. */
export interface RedisClient {
  readonly isReady: boolean;
  connect(): Promise<unknown>;
  sendCommand(args: readonly string[]): Promise<unknown>;
  subscribe(channels: string[], listener: (message: string, channel: string) => void): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(): Promise<void>;
  destroy(): void;
}

/** What `createClient` of `@redis/client` takes beside the URL, such as `{ username, password, socket: { tls: true, ca } }`. */
export interface RedisConnectionOptions {
  readonly username?: string;
  readonly password?: string;
  readonly database?: number;
  readonly socket?: object;
}

export interface LinkOptions extends RedisConnectionOptions {
  readonly url: string;
  /** A server that has not answered for so long is given up. */
  readonly silenceMs: number;
  /** Follows every new connection, before anybody uses it. */
  greet?(client: RedisClient): Promise<void>;
  /** The connection is gone, wanted or not. */
  lost?(): void;
}

export interface Link {
  /** A client that is connected; rejects at once when the server cannot be reached. */
  client(): Promise<RedisClient>;
  /** `during` is for the error. */
  send(during: string, args: readonly string[]): Promise<unknown>;
  /** For its own connection: one that listens is asked nothing else but whether it lives. */
  subscribe(channels: string[], listener: (message: string, channel: string) => void): Promise<void>;
  run(during: string, script: Script, key: string, args: readonly string[]): Promise<unknown>;
  /** Throws the connection away; what is under way fails. */
  drop(): void;
  close(): Promise<void>;
}

const connectTimeoutMs = 5_000;
/** For the answers that are still owed. */
const closeTimeoutMs = 1_000;

export function createLink(options: LinkOptions): Link {
  const { url, silenceMs, greet, lost, socket, ...rest } = options;
  const settings = {
    ...rest,
    url,
    RESP: 2 as const,
    maintNotifications: 'disabled' as const,
    disableOfflineQueue: true,
    // By default every command gets an AbortSignal with a timer of its own: half of what a small command costs.
    commandOptions: { timeout: 0 },
    socket: { connectTimeout: connectTimeoutMs, ...socket, reconnectStrategy: false as const },
  };
  // Not `createClient`: its class with a method for every command takes 25 MB and 90 ms, and none of them is called here.
  const make = (): RedisClient => new Client(settings) as unknown as RedisClient;
  check(make, url);
  /** Why a client was given up. */
  const reasons = new WeakMap<RedisClient, Error>();
  let current: RedisClient | null = null;
  let connecting: Promise<RedisClient> | null = null;
  let closed = false;
  /** Commands that wait for their answer, and since which tick none has come. */
  let owed = 0;
  let silentSince = 0;
  const watch = createWatch(silenceMs, (lateBefore) => {
    const isSilent = owed > 0 && silentSince < lateBefore;
    if (isSilent && current) gone(current, new Error(`the server has not answered for ${silenceMs} ms`));
    return owed > 0;
  });

  async function connect(): Promise<RedisClient> {
    const client = make();
    client.on('error', (error) => gone(client, error)); // also keeps the error from ending the process
    // A server that takes connections and then says nothing would be waited for for ever.
    const late = setTimeout(discard, silenceMs, client);
    try {
      await client.connect();
      await greet?.(client);
    } catch (error) {
      discard(client);
      throw redisError('connecting', error);
    } finally {
      clearTimeout(late);
    }
    if (closed) discard(client);
    else current = client;
    return client;
  }

  function gone(client: RedisClient, reason: Error): void {
    if (current !== client) return;
    reasons.set(client, reason);
    current = null;
    discard(client);
    lost?.();
  }

  function begin(): void {
    if (owed++ === 0) silentSince = watch.tick;
    watch.start();
  }

  function answered(): void {
    owed--;
    silentSince = watch.tick;
  }

  async function ask<T>(during: string, question: (client: RedisClient) => Promise<T>): Promise<T> {
    const client = current ?? (await link.client());
    begin();
    try {
      return await question(client);
    } catch (error) {
      if (isReadOnly(error)) gone(client, error as Error);
      // To commands that were under way the driver only says that it has disconnected.
      throw redisError(during, reasons.get(client) ?? error);
    } finally {
      answered();
    }
  }

  const link: Link = {
    async client() {
      if (current) return current;
      if (closed) throw redisError('connecting', new Error('the backend was closed'));
      connecting ??= connect().finally(() => {
        connecting = null;
      });
      return connecting;
    },
    send: (during, args) => ask(during, (client) => client.sendCommand(args)),
    subscribe: (channels, listener) => ask('listening', (client) => client.subscribe(channels, listener)),
    async run(during, { sha, text }, key, args) {
      try {
        return await link.send(during, ['EVALSHA', sha, '1', key, ...args]);
      } catch (error) {
        if (!isUnknownScript((error as Error).cause)) throw error;
        return link.send(during, ['EVAL', text, '1', key, ...args]);
      }
    },
    drop() {
      if (current) gone(current, new Error('the connection was thrown away'));
    },
    async close() {
      closed = true;
      watch.stop();
      await connecting?.catch(() => {});
      const client = current;
      current = null;
      if (!client) return;
      const late = setTimeout(discard, closeTimeoutMs, client);
      await client.close().catch(() => discard(client));
      clearTimeout(late);
    },
  };
  return link;
}

function discard(client: RedisClient): void {
  try {
    client.destroy();
  } catch {
    // It is closed already.
  }
}

/** The driver reads the URL when a client is made. Its own message may repeat it, and with it the password. */
function check(make: () => RedisClient, url: string): void {
  try {
    if (!/^rediss?:\/\/[^#]*$/.test(url)) throw new Error();
    make();
  } catch {
    throw config(
      'redis() expects a URL like redis://user:password@host:6379/0 (rediss:// for TLS), got another. In the password, write characters such as # and / as %23 and %2F.',
    );
  }
}
