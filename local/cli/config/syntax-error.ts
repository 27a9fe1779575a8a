/** Which file has the syntax error. Node says it in the stack, or only where nobody catches the error. */

import { spawnSync } from 'node:child_process';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

export interface Spot {
  readonly path: string;
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** The files that Node loads from now on, until `end` is called. */
export function watchLoads(): { readonly urls: readonly string[]; end(): void } {
  const urls: string[] = [];
  const hooks = registerHooks({
    load(url, context, next) {
      urls.push(url);
      return next(url, context);
    },
  });
  return { urls, end: () => hooks.deregister() };
}

/** A program is only asked for its newest files: the one with the error is among the last that were loaded. */
const mostChecked = 20;

/** `null`: it is another error, or no file that was loaded has it. */
export function spotOf(error: unknown, urls: readonly string[]): Spot | null {
  if (!(error instanceof Error) || error.name !== 'SyntaxError') return null;
  const said = spotIn(error.stack ?? '');
  if (said) return said;
  const scripts = urls.filter((url) => /^file:.*\.[cm]?js$/.test(url));
  for (const url of scripts.slice(-mostChecked).toReversed()) {
    const checked = spawnSync(process.execPath, ['--check', fileURLToPath(url)], { encoding: 'utf8' });
    const spot = spotIn(checked.stderr);
    if (spot) return spot;
  }
  return null;
}

/** From what Node puts before an error: `file:///app/jobs.ts:3`, some lines, and a mark below the column. */
function spotIn(text: string): Spot | null {
  const [, file, line, marked] = /^(\S+):(\d+)\n(?:.*\n){1,9}?([ \t]*)\^/.exec(text) ?? [];
  if (file === undefined) return null;
  const path = file.startsWith('file:') ? fileURLToPath(file) : file;
  return { path, line: Number(line), column: marked!.length + 1 };
}
