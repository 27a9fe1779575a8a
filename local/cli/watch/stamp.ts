/** What tells whether a file or a folder has changed. */

import { readdirSync, statSync } from 'node:fs';

/**
 * Changes when a file is written, replaced or removed, or when a folder gets or loses source files. Whatever else an app
 * writes beside its code (a database, a log) leaves the folder as it was.
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
