/**
 * One connection to a beanstalkd server. It pipelines commands, and answers come back in order. It does not reconnect: its reserved
 * jobs are lost with it, and the caller must know that.
 */

import { connect, type Socket } from 'node:net';
import { LongshoreError } from '../../../core/base/errors.ts';
import { createWatch } from '../../watch.ts';
import { createReplyReader, type Reply } from './replies.ts';

export interface ConnectionOptions {
  readonly host: string;
  readonly port: number;
  /** The connection ends when a command is unanswered for this time. */
  readonly silenceMs: number;
}

export type Connection = Awaited<ReturnType<typeof openConnection>>;

interface Owed {
  readonly count: number;
  readonly replies: Reply[];
  /** Called when all replies have come, or with an error when the connection has ended. */
  done(replies: Reply[], error: Error | null): void;
}

const connectTimeoutMs = 5_000;
const readBytes = 64 * 1024;

/** Rejects with `BACKEND` when the server cannot be reached. */
export async function openConnection({ host, port, silenceMs }: ConnectionOptions) {
  // Half open: the server ends a wait at once when the client closes its half of the connection.
  const socket = connect({
    host,
    port,
    noDelay: true,
    keepAlive: true,
    allowHalfOpen: true,
    // One buffer for all reads: with a new one for each, a worker at full speed takes twice the memory.
    onread: {
      buffer: Buffer.allocUnsafe(readBytes),
      callback(count, buffer) {
        read((buffer as Buffer).subarray(0, count));
        return true;
      },
    },
  });
  await connected(socket, `${host}:${port}`);
  /** Answered commands are removed in slices, because `shift` is slow on long arrays. */
  let owed: Owed[] = [];
  let answered = 0;
  let text = '';
  let isWriting = false;
  let isOpen = true;
  let reason: Error | null = null;
  let waitUntil = 0;
  /** The tick at which data came last. */
  let silentSince = 0;
  const watch = createWatch(silenceMs, (lateBefore) => {
    if (performance.now() < waitUntil) silentSince = watch.tick;
    else if (owed.length > 0 && silentSince < lateBefore) end(new Error(`no answer for ${silenceMs} ms`));
    return owed.length > 0;
  });
  const listeners: (() => void)[] = [];

  const reader = createReplyReader((reply) => {
    const next = owed[answered];
    if (!next) throw new Error(`an answer without a command: ${reply.word}`);
    if (next.replies.push(reply) < next.count) return;
    if (++answered === owed.length) {
      owed = [];
      answered = 0;
    } else if (answered >= 1_024) {
      owed = owed.slice(answered);
      answered = 0;
    }
    next.done(next.replies, null);
  });

  function read(chunk: Buffer): void {
    silentSince = watch.tick;
    try {
      reader.read(chunk);
    } catch (error) {
      end(error as Error);
    }
  }

  socket.resume(); // without this, the end of the connection is not noticed
  socket.on('error', end);
  socket.on('end', () => end(new Error('the server has closed the connection')));
  socket.on('close', () => end(new Error('the connection was lost')));

  function end(why: Error): void {
    if (!isOpen) return;
    isOpen = false;
    reason = why;
    watch.stop();
    socket.destroy();
    const left = owed.slice(answered);
    owed = [];
    answered = 0;
    const error = lostConnection(why);
    for (const one of left) one.done(one.replies, error);
    for (const listener of listeners) listener();
  }

  /** Writes the pending commands now, not at the end of this turn of the event loop. */
  function flush(): void {
    if (text === '' || !isOpen) return;
    socket.write(text);
    text = '';
  }

  function endTurn(): void {
    isWriting = false;
    flush();
  }

  function write(chunk: string): void {
    text += chunk;
    if (isWriting) return;
    isWriting = true;
    process.nextTick(endTurn);
  }

  /** Sends one command line (without `\r\n`) and its body. Rejects with `BACKEND` when the connection ends first. */
  function send(line: string, body?: string | Uint8Array): Promise<Reply> {
    if (!isOpen) return Promise.reject(lostConnection(reason));
    if (body === undefined) write(`${line}\r\n`);
    else if (typeof body === 'string') write(`${line}\r\n${body}\r\n`);
    else {
      write(`${line}\r\n`);
      flush();
      socket.write(body);
      write('\r\n');
    }
    return new Promise((resolve, reject) => {
      owe(1, ([reply], error) => (reply ? resolve(reply) : reject(error!)));
    });
  }

  function owe(count: number, done: Owed['done']): void {
    if (owed.length === 0) silentSince = watch.tick;
    watch.start();
    owed.push({ count, replies: [], done });
  }

  /**
   * Sends many commands, each a line with its body, for a fraction of the cost. Resolves with their replies in order, or with fewer
   * replies if the connection has ended.
   */
  function sendAll(commands: readonly string[]): Promise<readonly Reply[]> {
    if (!isOpen || commands.length === 0) return Promise.resolve([]);
    write(`${commands.join('\r\n')}\r\n`);
    return new Promise((resolve) => owe(commands.length, resolve));
  }

  return {
    /** `false` once it has broken or was ended. */
    get isOpen(): boolean {
      return isOpen;
    },
    /** Why it ended. */
    get reason(): Error | null {
      return reason;
    },
    send,
    sendAll,
    flush,
    /** Reserves the next job that comes within `seconds`. Other commands are answered only after that. */
    async wait(seconds: number): Promise<Reply> {
      waitUntil = performance.now() + seconds * 1_000;
      try {
        return await send(`reserve-with-timeout ${seconds}`);
      } finally {
        waitUntil = 0;
      }
    },
    /** Ends a wait and the connection. The server answers TIMED_OUT, or with a job that it takes back at once. */
    endWait(): void {
      waitUntil = 0;
      silentSince = watch.tick;
      flush();
      socket.end();
    },
    /** Calls the listener once, when the connection ends; at once if it has ended. */
    onEnd(listener: () => void): void {
      if (isOpen) listeners.push(listener);
      else listener();
    },
    destroy: (why = new Error('it was closed')): void => end(why),
  };
}

export function lostConnection(cause: Error | null): LongshoreError {
  const text = `The connection to beanstalkd was lost: ${cause?.message ?? 'it was closed'}.`;
  return new LongshoreError('BACKEND', text, { cause });
}

function connected(socket: Socket, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (cause: Error) => {
      clearTimeout(late);
      socket.destroy();
      const { code } = cause as NodeJS.ErrnoException;
      const message = `Expected a beanstalkd server at ${address}, got: ${cause.message || code}. Check that it runs, and its host and port.`;
      reject(new LongshoreError('BACKEND', message, { cause }));
    };
    const late = setTimeout(() => failed(new Error('no connection in time')), connectTimeoutMs);
    socket.once('error', failed);
    socket.once('connect', () => {
      clearTimeout(late);
      socket.off('error', failed);
      resolve();
    });
  });
}
