/** Asks before something is gone for good. */

import { createInterface } from 'node:readline/promises';
import type { Input } from '../definition.ts';
import { CliError } from '../errors.ts';

/** Without a terminal `--yes` is needed. Called before anything is loaded, so that it fails at once. */
export function canAsk({ io, json, yes }: Input, what: string): void {
  if (yes || (io.isTTY.stdin && io.isTTY.stderr && !json)) return;
  throw new CliError('CONFIRM', 2, `This would ${what} for good. Add --yes if that is what you want.`);
}

/** Above this number it has to be typed: a reflex does not do that. */
const mostAnsweredWithYes = 100;

/** Resolves when it may go on. Throws `CONFIRM` when the answer is anything but yes. @param many how many it is about */
export async function confirm({ io }: Pick<Input, 'io'>, question: string, many = 1): Promise<void> {
  const [hint, isSure] =
    many > mostAnsweredWithYes
      ? [`Type ${many} to confirm:`, (answer: string) => answer.replace(/\D/g, '') === String(many)]
      : ['[y/N]', (answer: string) => /^y(es)?$/i.test(answer)];
  const terminal = createInterface({ input: io.stdin, output: io.stderr });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([terminal.question(`${question} ${hint} `), closed]);
    if (isSure(answer.trim())) return;
  } finally {
    terminal.close();
  }
  throw new CliError('CONFIRM', 1, 'Not confirmed, so nothing was changed.');
}
