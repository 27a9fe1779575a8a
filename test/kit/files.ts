/** The files of this repository, also in a folder that git does not know. */

import { globSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
/** As in .gitignore. */
const ignored = /^(node_modules|dist|\.longshore|coverage|out|\.git)$|\.(tgz|log)$/;

/** Paths below the root, of the given folders alone if there are some. */
export function repositoryFiles(...folders: string[]): string[] {
  const patterns = folders.length > 0 ? folders.map((folder) => `${folder}/**`) : ['**', '.*/**', '.*'];
  const found = globSync(patterns, {
    cwd: root,
    withFileTypes: true,
    exclude: (entry) => ignored.test(entry.name),
  });
  const paths = found
    .filter((entry) => entry.isFile() && !ignored.test(entry.name))
    .map((entry) => resolve(entry.parentPath, entry.name).slice(root.length + 1));
  return [...new Set(paths)].sort();
}
