/** Listens for PUBLISH on a connection of its own, to wake idle workers. */

import { createLink, type LinkOptions } from './connection.ts';

export type Listener = ReturnType<typeof createListener>;

const retryMs = 500;
/** A connection can break unnoticed, so it is checked by PING. */
const pingMs = 5_000;

export interface Hearer {
  /** @param channel absent = the connection was opened or lost, so messages may have been missed */
  wake(message?: string, channel?: string): void;
}

export function createListener(options: LinkOptions, hearer: Hearer) {
  const link = createLink({ ...options, lost });
  const wanted = new Set<string>();
  const heard = new Set<string>();
  let retrying: NodeJS.Timeout | undefined;
  let pinging: NodeJS.Timeout | undefined;
  let subscribing = false;
  let closed = false;

  function lost(): void {
    heard.clear();
    clearInterval(pinging);
    hearer.wake(); // a fetch that relied on this connection must poll more often
    retryLater();
  }

  function retryLater(): void {
    clearTimeout(retrying);
    if (!closed) retrying = setTimeout(subscribe, retryMs).unref();
  }

  async function subscribe(): Promise<void> {
    if (subscribing || closed) return;
    subscribing = true;
    try {
      await link.client();
      const missing = [...wanted].filter((channel) => !heard.has(channel));
      if (missing.length > 0) await link.subscribe(missing, hearer.wake);
      for (const channel of missing) heard.add(channel);
      clearInterval(pinging);
      pinging = setInterval(() => link.send('listening', ['PING']).catch(() => {}), pingMs).unref();
      hearer.wake(); // jobs may have come before the subscription
    } catch {
      retryLater();
    } finally {
      subscribing = false;
    }
    if (!closed && [...wanted].some((channel) => !heard.has(channel))) retryLater();
  }

  return {
    /** Listens to these channels from now on. */
    start(channels: readonly string[]): void {
      const before = wanted.size;
      for (const channel of channels) wanted.add(channel);
      if (wanted.size > before) void subscribe();
    },
    /** Whether it listens to all of them. */
    hears: (channels: readonly string[]): boolean => channels.every((channel) => heard.has(channel)),
    /** Listens on a new connection, because a message was missed on this one. */
    reconnect: link.drop,
    async close(): Promise<void> {
      closed = true;
      clearTimeout(retrying);
      clearInterval(pinging);
      await link.close();
    },
  };
}
