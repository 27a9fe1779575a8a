/** Asks a question with a list of answers on a terminal. */

import { createInterface } from 'node:readline/promises';
import { didYouMean } from '../../core/base/nearest.ts';
import { CliError } from '../cli/errors.ts';
import type { Ask } from './choices.ts';

/** Takes a number or a name; Enter takes the first. Asks again after a wrong answer. */
export function askOn(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Ask {
  return async (question, names, texts) => {
    const lines = names.map((name, i) => `  ${i + 1}  ${name.padEnd(12)} ${texts[name]}`);
    output.write(`${question}\n${lines.join('\n')}\n`);
    const terminal = createInterface({ input, output });
    const closed = new Promise<never>((_, reject) =>
      terminal.once('close', () => reject(new CliError('CONFIRM', 1, 'Nothing was written.'))),
    );
    closed.catch(() => {}); // closed below, after the answer
    try {
      for (;;) {
        const typed = await Promise.race([terminal.question(`1 to ${names.length} (${names[0]}): `), closed]);
        const answer = typed.trim();
        const found =
          answer === '' ? names[0] : (names[Number(answer) - 1] ?? names.find((one) => one === answer));
        if (found !== undefined) return found;
        output.write(`There is no answer "${answer}".${didYouMean(answer, names)}\n`);
      }
    } finally {
      terminal.close();
    }
  };
}
