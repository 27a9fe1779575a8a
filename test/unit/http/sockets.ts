/** Raw connections, for what no HTTP client would send. */

import { connect, type Socket } from 'node:net';

export interface Raw {
  readonly socket: Socket;
  /** What has been received so far. */
  text(): string;
  write(text: string): void;
  /** Resolves when the server has ended or cut the connection, or rejects after the deadline. */
  closed(deadlineMs?: number): Promise<string>;
}

export async function dial(port: number): Promise<Raw> {
  const socket = connect({ port, host: '127.0.0.1' });
  let received = '';
  socket.setEncoding('utf8');
  socket.on('data', (text) => (received += text));
  socket.on('error', () => {}); // a reset is one of the ways to be cut off
  await new Promise<void>((resolve) =>
    socket.once('connect', () => resolve()).once('error', () => resolve()),
  );
  return {
    socket,
    text: () => received,
    write: (text) => void (socket.writable && socket.write(text)),
    closed: (deadlineMs = 10_000) =>
      new Promise((resolve, reject) => {
        if (socket.closed) return resolve(received);
        const timer = setTimeout(() => {
          socket.destroy();
          reject(new Error(`still open after ${deadlineMs} ms, having received: ${received}`));
        }, deadlineMs);
        socket.once('close', () => {
          clearTimeout(timer);
          resolve(received);
        });
      }),
  };
}
