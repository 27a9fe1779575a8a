/**
 * `node infra/release/notes.ts v1.2.3` prints the notes of a release, from CHANGELOG.md. It refuses a tag that package.json or CHANGELOG.md
 * does not know.
 */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Throws an `Error` that says what to change. */
export function notesOf(tag: string, version: string, changelog: string): string {
  if (tag !== `v${version}`)
    throw new Error(`Expected the tag of package.json's version, v${version}, got ${tag}.`);
  const section = changelog.split(/^(?=## )/m).find((one) => one.startsWith(`## ${version} - `));
  if (section === undefined)
    throw new Error(`Expected CHANGELOG.md to have a section "## ${version} - <date>". Rename "Unreleased".`);
  const [heading, ...lines] = section.split('\n');
  if (!/^## \S+ - \d{4}-\d{2}-\d{2}$/.test(heading!))
    throw new Error(`Expected the heading of a release to end with its date, got "${heading}".`);
  return lines.join('\n').trim();
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '../..');
  const read = (name: string): string => readFileSync(join(root, name), 'utf8');
  try {
    console.log(
      notesOf(process.argv[2] ?? '', JSON.parse(read('package.json')).version, read('CHANGELOG.md')),
    );
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
