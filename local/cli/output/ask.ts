/** Asks before something is gone for good. */

import { createInterface } from 'node:readline/promises';
import type { Input } from '../definition.ts';
import { CliError } from '../errors.ts';

export const yesFlag = { flags: '--yes', text: 'do not ask' } as const;

/** Without a terminal `--yes` is needed. Called before anything is loaded, so that it fails at once. */
export function canAsk({ io, json }: Input, yes: boolean | undefined, what: string): void {
  if (yes || (io.isTTY.stdin && io.isTTY.stderr && !json)) return;
  throw new CliError('CONFIRM', 2, `This would ${what} for good. Add --yes if that is what you want.`);
}

/** Resolves when it may go on. Throws `CONFIRM` when the answer is anything but yes. */
export async function confirm({ io }: Input, yes: boolean | undefined, question: string): Promise<void> {
  if (yes) return;
  const terminal = createInterface({ input: io.stdin, output: io.stderr });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), closed]);
    if (/^y(es)?$/i.test(answer.trim())) return;
  } finally {
    terminal.close();
  }
  throw new CliError('CONFIRM', 1, 'Not confirmed, so nothing was changed.');
}
