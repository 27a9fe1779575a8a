/** A payload as people give it: as a word, in a file, or on stdin. */

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { flag } from '../config/flags.ts';
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

export const payloadFlag = flag(
  '--payload <json>',
  'the whole new payload as JSON, @ and the name of a file, or - to read it from stdin',
  String,
);

/** @param given after `--payload` */
export async function payloadOf(input: Pick<Input, 'io'>, given: string): Promise<unknown> {
  if (given === '-') return parsedPayload(await payloadFromStdin(input), true);
  if (!given.startsWith('@')) return parsedPayload(given, false);
  const path = resolve(input.io.cwd, given.slice(1));
  const text = await readFile(path, 'utf8').catch((cause: Error) => {
    throw usage(
      `Expected a file with the payload after --payload @, could not read ${path}: ${cause.message}`,
    );
  });
  return parsedPayload(text, true);
}
