/**
 * Sends log lines out of an isolate. Lines that the worker has not read yet take its memory, so at most `mostBytes` may be unread:
 * a handler that logs faster loses the lines beyond that.
 */

import { serialize } from 'node:v8';

export interface LogEntry {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The size of the serialized line. */
  readonly bytes: number;
}

/** The most that may be sent and not yet read. */
const mostBytes = 1_048_576;
/** The worker confirms what it has read after this many bytes. */
const readBytes = 65_536;

export const overflow = `The handler logs faster than its worker reads: more than ${mostBytes} bytes are unread. Further lines are dropped until the worker catches up.`;

/** In the isolate, for one attempt. @param full called once, when the first line is dropped */
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
    /** The worker has read this many bytes. */
    read(bytes: number): void {
      waiting -= bytes;
    },
  };
}

/** In the worker, for one attempt: counts the bytes that were read, and confirms them every `readBytes`. */
export function countRead(say: (bytes: number) => void): (entry: LogEntry) => void {
  let read = 0;
  return ({ bytes }) => {
    read += bytes;
    if (read < readBytes) return;
    say(read);
    read = 0;
  };
}

/** `null` = the fields cannot be cloned, so they cannot leave the isolate. */
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
