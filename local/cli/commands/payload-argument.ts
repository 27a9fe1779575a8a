/** A payload as people give it: as a word, or on stdin. */

import { text as textOf } from 'node:stream/consumers';
import type { Input } from '../definition.ts';
import { usage } from '../errors.ts';

export async function payloadFromStdin({ io: { stdin, isTTY, stderr } }: Pick<Input, 'io'>): Promise<string> {
  if (isTTY.stdin) stderr.write('Reading the payload as JSON from the terminal; end it with Ctrl-D.\n');
  return textOf(stdin);
}

/** The text stays out of the message: it may be personal data. */
export function parsedPayload(text: string, piped: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const at = /at position (\d+)/.exec((cause as Error).message)?.[1];
    const place = at === undefined ? '' : ` at character ${Number(at) + 1}`;
    const how = piped ? 'Send one JSON value on stdin.' : `Quote it for the shell, like '{"name":"Ada"}'.`;
    const got = text.trim() === '' ? 'nothing' : `${text.length} characters that are not JSON${place}`;
    throw usage(`Expected the payload as JSON, got ${got}. ${how}`);
  }
}
