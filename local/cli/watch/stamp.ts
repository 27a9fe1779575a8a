/** Detects changes of a file or a folder. */

import { readdirSync, statSync } from 'node:fs';

/**
 * The stamp changes when a file is written, replaced or removed, or when source files are added to or removed from a folder. Other
 * files in a folder (a database, a log) do not change it.
 */
export function stampOf(path: string): string {
  try {
    const stats = statSync(path);
    if (!stats.isDirectory()) return `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
    return readdirSync(path)
      .filter((name) => /^[^.].*\.[cm]?[jt]sx?$/.test(name))
      .join('/');
  } catch {
    return 'none';
  }
}
