/** A TCP server between clients and a server of theirs. */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface Between {
  /** The address of the server, through this one. */
  readonly url: string;
  /** From now on leads to this server. Connections that are open stay where they are. */
  lead(url: string): void;
  /** Breaks all connections. */
  close(): Promise<void>;
}

/** @param join called with both ends of each new connection, to carry what arrives at one to the other */
export async function startBetween(url: string, join: (near: Socket, far: Socket) => void): Promise<Between> {
  let target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => sockets.delete(socket));
    }
    join(near, far);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(url);
  own.port = String((server.address() as { port: number }).port);
  return {
    url: own.href,
    lead(elsewhere) {
      target = new URL(elsewhere);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
