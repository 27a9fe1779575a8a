/** Runs the compiler over a few files as a user's project would, with this package under its own name. */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

export const root = resolve(import.meta.dirname, '../../..');
const compiler = join(root, 'node_modules/typescript/bin/tsc');
const execute = promisify(execFile);

export interface TypeProblem {
  readonly file: string;
  readonly line: number;
  /** Like `TS2322`. */
  readonly code: string;
  readonly message: string;
}

/**
 * A new folder for generated sources; the caller removes it. It is inside the repository, so that `longshore` means
 * this package, and outside node_modules, where Node would not run TypeScript; git ignores it.
 */
export function makeScratch(): string {
  mkdirSync(join(root, '.longshore'), { recursive: true });
  return mkdtempSync(join(root, '.longshore/scratch-'));
}

/** Writes the files (name → text) and returns what the compiler says of them, in order. */
export async function typecheck(folder: string, files: ReadonlyMap<string, string>): Promise<TypeProblem[]> {
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const config = {
    extends: relative(folder, join(root, 'tsconfig.json')),
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
    include: [],
    files: [...files.keys()],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const run = [compiler, '-p', folder, '--pretty', 'false'];
  const printed = await execute(process.execPath, run, { cwd: folder }).then(
    ({ stdout }) => stdout,
    (error: { stdout?: string }) => {
      if (!error.stdout) throw error;
      return error.stdout;
    },
  );
  const problems = [...printed.matchAll(/^(.+?)\((\d+),\d+\): error (TS\d+): (.*)$/gm)];
  if (printed !== '' && problems.length === 0) throw new Error(`The compiler failed:\n${printed}`);
  return problems.map(([, file, line, code, message]) => ({
    file: file!,
    line: Number(line),
    code: code!,
    message: message!,
  }));
}
