/** Idle workers are woken by PUBLISH. A message can be lost with its connection, so idle workers also poll now and then. */

import type { Waiters } from '../shared/waiters.ts';
import { createLink, type LinkOptions } from './connection.ts';

export interface Listener {
  /** Wants to hear of these queues from now on. */
  start(channels: readonly string[]): void;
  /** Whether all of them are heard. */
  hears(channels: readonly string[]): boolean;
  /** Work was found of which nothing was heard: the connection may be dead. */
  doubt(): void;
  close(): Promise<void>;
}

const retryMs = 500;
/** A connection can die without a word from anybody: this asks whether it still lives. */
const beatMs = 5_000;

export function createListener(options: LinkOptions, waiters: Waiters): Listener {
  const link = createLink({ ...options, lost: () => deaf() });
  const wanted = new Set<string>();
  const heard = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let beating: NodeJS.Timeout | undefined;
  let working = false;
  let closed = false;

  function deaf(): void {
    heard.clear();
    clearInterval(beating);
    waiters.wake(); // who waits does so for as long as one who hears
    later();
  }

  function later(): void {
    clearTimeout(timer);
    if (!closed) timer = setTimeout(listen, retryMs).unref();
  }

  async function listen(): Promise<void> {
    if (working || closed) return;
    working = true;
    try {
      await link.client();
      const missing = [...wanted].filter((channel) => !heard.has(channel));
      if (missing.length > 0) await link.subscribe(missing, waiters.wake);
      for (const channel of missing) heard.add(channel);
      clearInterval(beating);
      beating = setInterval(() => link.send('listening', ['PING']).catch(() => {}), beatMs).unref();
      waiters.wake(); // whatever was sent while nobody listened
    } catch {
      later();
    } finally {
      working = false;
    }
    if (!closed && [...wanted].some((channel) => !heard.has(channel))) later();
  }

  return {
    start(channels) {
      const before = wanted.size;
      for (const channel of channels) wanted.add(channel);
      if (wanted.size > before) void listen();
    },
    hears: (channels) => channels.every((channel) => heard.has(channel)),
    doubt: () => link.drop(),
    async close() {
      closed = true;
      clearTimeout(timer);
      clearInterval(beating);
      await link.close();
    },
  };
}
