/**
 * Checks messages from an isolate. The handler can use the same channel as the code that runs it, so it may send anything.
 * A message is accepted if it has the shape of its type and the isolate's nonce, which the handler does not know.
 */

import { withoutStack } from './errors.ts';
import {
  type FromIsolate,
  mostCauses,
  mostItemChars,
  mostItems,
  mostStepChars,
  type Thrown,
} from './messages.ts';

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

/** The members of a question are not checked here: the call that answers it checks them. */
const shapes: Readonly<Record<FromIsolate['type'], Shape>> = {
  log: ({ message, fields, bytes }) => isText(message) && isRecord(fields) && isSize(bytes),
  overflow: () => true,
  ask: ({ ask, question }) => isNumber(ask) && isRecord(question),
  did: ({ ask, text }) => isNumber(ask) && isJson(text) && (text?.length ?? 0) <= mostStepChars,
  undone: ({ ask, error }) => isNumber(ask) && isThrown(error),
  items: ({ ask, items, done, error }) =>
    isNumber(ask) && areItems(items) && typeof done === 'boolean' && (error === null || isThrown(error)),
  returned: ({ output, ...use }) => isRecord(output) && isOutput(output) && isMemoryUse(use),
  failed: ({ error, spoiled, ...use }) => isThrown(error) && isMemoryUse(use) && typeof spoiled === 'boolean',
  crashing: ({ error }) => isThrown(error),
};

/** Does not parse the payloads: each is parsed when its turn comes. */
function areItems(items: unknown): boolean {
  if (!Array.isArray(items) || items.length > mostItems) return false;
  let chars = 0;
  for (const item of items) {
    if (chars >= mostItemChars || !isRecord(item)) return false;
    const { job, payload, error } = item;
    if (!isTextOrNull(job) || !isTextOrNull(payload) || !(error === null || isThrown(error))) return false;
    chars += (payload as string | null)?.length ?? 0;
  }
  return true;
}

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

function isThrown(error: unknown, depth = 0): error is Thrown {
  if (!isRecord(error)) return false;
  const { kind, name, message, stack, code, retryAfterMs, issues, cause } = error;
  return (
    [kind, name, message].every(isText) &&
    isTextOrNull(stack) &&
    (isTextOrNull(code) || isNumber(code)) &&
    isNumber(retryAfterMs) &&
    (cause === null || (depth < mostCauses && isThrown(cause, depth + 1))) &&
    (issues === null ||
      (Array.isArray(issues) &&
        issues.every((issue) => isRecord(issue) && isText(issue.path) && isText(issue.message))))
  );
}
