/**
 * Log lines on their way out of an isolate. A handler may write them faster than the worker reads, and what waits in between is in
 * the worker's memory: so only so much waits, and what comes meanwhile is left out.
 */

import { serialize } from 'node:v8';

export interface LogEntry {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** As it travels. */
  readonly bytes: number;
}

/** Sent, and not yet read. */
const mostBytes = 1_048_576;
/** The worker says so often what it has read. */
const readBytes = 65_536;

export const overflow = `The handler logs faster than its worker reads, more than ${mostBytes} bytes at once: the lines that come meanwhile are left out.`;

/** In the isolate, for one attempt. @param full called once, when a line is left out */
export function createLog(send: (entry: LogEntry) => void, full: () => void) {
  let waiting = 0;
  let isFull = false;

  return {
    write(message: string, fields: Readonly<Record<string, unknown>>): void {
      const line = entryOf(message, fields) ?? entryOf(message, cloneable(fields));
      if (line && waiting + line.bytes <= mostBytes) {
        waiting += line.bytes;
        send(line);
      } else {
        if (!isFull) full();
        isFull = true;
      }
    },
    /** The worker has read so much of them. */
    read(bytes: number): void {
      waiting -= bytes;
    },
  };
}

/** In the worker, for one attempt: counts what is read, and says it now and then. */
export function countRead(say: (bytes: number) => void): (entry: LogEntry) => void {
  let read = 0;
  return ({ bytes }) => {
    read += bytes;
    if (read < readBytes) return;
    say(read);
    read = 0;
  };
}

/** `null` for what cannot leave the isolate. */
function entryOf(message: string, fields: Readonly<Record<string, unknown>>): LogEntry | null {
  try {
    return { message, fields, bytes: serialize({ message, fields }).byteLength };
  } catch {
    return null;
  }
}

function cloneable(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      try {
        return [name, structuredClone(value)];
      } catch {
        return [name, `[${typeof value}]`];
      }
    }),
  );
}
