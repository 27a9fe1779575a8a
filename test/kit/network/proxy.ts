/** A TCP proxy in front of a server, which can fall silent as a broken network does: nobody is told, nothing arrives. */

import type { Socket } from 'node:net';
import { type Between, startBetween } from './between.ts';

export interface Proxy extends Between {
  /** From now on swallows all that goes over connections that ever carried `text`, which stay open; returns how many. */
  silence(text: string): number;
  /** The next connection that carries `text` falls silent with it. */
  silenceNext(text: string): void;
  /** The server sees the end of those that are silent, as its keepalive does in time; returns how many. */
  endSilent(): number;
  /** Breaks the connections that ever carried `text`; returns how many. */
  cut(text: string): number;
}

export async function startProxy(url: string): Promise<Proxy> {
  let trigger: string | null = null;
  const links: { sent: string; silent: boolean; sockets: Socket[] }[] = [];
  const between = await startBetween(url, (near, far) => {
    const link = { sent: '', silent: false, sockets: [near, far] };
    links.push(link);
    near.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      link.sent += text;
      if (trigger !== null && text.includes(trigger)) {
        trigger = null;
        link.silent = true;
      }
      if (!link.silent) far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (!link.silent) near.write(bytes);
    });
    for (const [one, other] of [link.sockets, link.sockets.toReversed()] as [Socket, Socket][]) {
      one.on('close', () => {
        if (!link.silent) other.destroy();
      });
    }
  });

  return {
    ...between,
    silence(text) {
      const silenced = links.filter(({ sent, silent }) => !silent && sent.includes(text));
      for (const link of silenced) link.silent = true;
      return silenced.length;
    },
    silenceNext(text) {
      trigger = text;
    },
    endSilent() {
      const silenced = links.filter(({ silent }) => silent);
      for (const { sockets } of silenced) sockets[1]!.resetAndDestroy();
      return silenced.length;
    },
    cut(text) {
      const broken = links.filter(({ sent, sockets: [near] }) => !near!.destroyed && sent.includes(text));
      for (const { sockets } of broken) for (const socket of sockets) socket.resetAndDestroy();
      return broken.length;
    },
  };
}
