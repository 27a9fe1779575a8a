/** Writes new files: all of them or none, and never over a file that exists. */

import { lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CliError } from '../cli/errors.ts';

export interface NewFile {
  /** From the folder of the project. */
  readonly path: string;
  readonly text: string;
  readonly isExecutable?: boolean;
}

export interface Written {
  readonly written: readonly string[];
  /** They existed, and are as they were. */
  readonly kept: readonly string[];
}

/** @param manifest the new text of package.json, which replaces the old one last */
export function writeFiles(folder: string, files: readonly NewFile[], manifest: string): Written {
  for (const { path } of files) checkFolder(folder, dirname(path));
  const isThere = ({ path }: NewFile) =>
    lstatSync(join(folder, path), { throwIfNoEntry: false }) !== undefined;
  const kept = files.filter(isThere);
  const fresh = files.filter((file) => !kept.includes(file));
  const undo: (() => void)[] = [];
  try {
    const draft = mkdtempSync(join(folder, '.longshore-init-'));
    undo.push(() => rmSync(draft, { recursive: true, force: true }));
    const drafts = fresh.map(({ path, text, isExecutable }, i) => {
      const from = join(draft, `${i}`);
      writeFileSync(from, text, { mode: isExecutable ? 0o755 : 0o644 });
      return { from, to: join(folder, path) };
    });
    const newManifest = join(draft, 'package.json');
    writeFileSync(newManifest, manifest);
    for (const { from, to } of drafts) {
      const made = mkdirSync(dirname(to), { recursive: true });
      if (made !== undefined) undo.push(() => rmSync(made, { recursive: true }));
      renameSync(from, to);
      undo.push(() => rmSync(to));
    }
    renameSync(newManifest, join(folder, 'package.json'));
    rmSync(draft, { recursive: true, force: true });
  } catch (cause) {
    for (const step of undo.toReversed()) step();
    const { message } = cause as Error;
    throw new CliError('CONFIG', 1, `Nothing was written to ${folder}: ${message}.`, { cause });
  }
  return { written: fresh.map(({ path }) => path), kept: kept.map(({ path }) => path) };
}

/** Throws `CONFIG` if a file is where a folder would be. */
function checkFolder(folder: string, path: string): void {
  const stats = lstatSync(join(folder, path), { throwIfNoEntry: false });
  if (stats && !stats.isDirectory())
    throw new CliError(
      'CONFIG',
      1,
      `Nothing was written: ${path} in ${folder} is no folder. Rename it first.`,
    );
}
