/**
 * Checks messages from an isolate. The handler can use the same channel as the code that runs it, so it may send anything.
 * A message is accepted if it has the shape of its type and the isolate's nonce, which the handler does not know.
 */

import { isThrown } from '../../base/thrown.ts';
import type { FromIsolate } from './messages.ts';

/** More messages than a library sends that mistakes the channel for its own. */
const mostStrange = 1_000;

/** @param flooded called when one attempt has sent too many invalid messages */
export function createInbox(nonce: string, flooded: (error: Error) => void) {
  let strange = 0;
  return {
    /** `null` = the message is invalid. */
    read(data: unknown): FromIsolate | null {
      const message = readMessage(data, nonce);
      if (!message && ++strange === mostStrange) flooded(withoutStack(flood));
      return message;
    },
    /** Starts the count for another attempt. */
    begin(): void {
      strange = 0;
    },
  };
}

const flood = `The handler sent ${mostStrange} messages over the channel between its isolate and the worker, which is not for handlers. Use ctx.log or ctx.progress.`;

function readMessage(data: unknown, nonce: string): FromIsolate | null {
  if (!isRecord(data) || data.nonce !== nonce) return null;
  const isGood = Object.hasOwn(shapes, String(data.type)) && shapes[data.type as FromIsolate['type']](data);
  return isGood ? (data as unknown as FromIsolate) : null;
}

const isRecord = (x: unknown): x is Record<string, unknown> => typeof x === 'object' && x !== null;

type Shape = (data: Record<string, unknown>) => boolean;

const isText = (x: unknown): boolean => typeof x === 'string';
const isTextOrNull = (x: unknown): boolean => x === null || isText(x);
const isSize = (x: unknown): boolean => Number.isSafeInteger(x) && (x as number) >= 0;
const isNumber = (x: unknown): boolean => typeof x === 'number';

/** The arguments and values of a call are not checked here: the call does that. */
const shapes: Readonly<Record<FromIsolate['type'], Shape>> = {
  log: ({ message, fields, bytes }) => isText(message) && isRecord(fields) && isSize(bytes),
  overflow: () => true,
  ask: ({ ask, member, args }) => isNumber(ask) && isText(member) && Array.isArray(args),
  did: ({ ask }) => isNumber(ask),
  undone: ({ ask, error }) => isNumber(ask) && isThrown(error),
  returned: ({ output, ...use }) => isRecord(output) && isOutput(output) && isMemoryUse(use),
  failed: ({ error, spoiled, ...use }) => isThrown(error) && isMemoryUse(use) && typeof spoiled === 'boolean',
  crashing: ({ error }) => isThrown(error),
};

const isMemoryUse = ({ heapBytes, peakBytes }: Record<string, unknown>): boolean =>
  isSize(heapBytes) && isSize(peakBytes);

function isOutput({ text, problem }: Record<string, unknown>): boolean {
  return isJson(text) && isTextOrNull(problem);
}

function isJson(text: unknown): text is string | null {
  if (text !== null && typeof text !== 'string') return false;
  try {
    return text === null || JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

/** For errors about an isolate: a stack of our own files would not help the user. */
export function withoutStack(message: string): Error {
  const error = new Error(message);
  delete error.stack;
  return error;
}
