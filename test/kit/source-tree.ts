/** The files of this repository, and who imports whom, for the tests of the house rules. */

import { readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { repositoryFiles } from './files.ts';

const root = resolve(import.meta.dirname, '../..');

export const read = (path: string): string => readFileSync(join(root, path), 'utf8');

export const manifest = JSON.parse(read('package.json')) as {
  exports: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  peerDependencies?: Record<string, string>;
};

export const files = repositoryFiles();

export const sources = files.filter((path) => /\.m?ts$/.test(path));

export interface Import {
  readonly from: string;
  /** A path in the repository, a `node:` module or the name of a package. */
  readonly to: string;
  /** Erased before the program runs. */
  readonly typeOnly: boolean;
}

const statement =
  /^\s*(?:import|export)\b(?<type>\s+type\b)?(?:[\w\s{},*$]*?\bfrom)?\s*(?<quote>['"])(?<to>[\w@.:/-]+)\k<quote>/gm;
const expression =
  /(?<type>\btypeof\s+)?\bimport(?:\.meta\.resolve)?\(\s*(?<quote>['"])(?<to>[\w@.:/-]+)\k<quote>\s*\)/g;

export function importsOf(from: string, text: string): Import[] {
  return [...text.matchAll(statement), ...text.matchAll(expression)].map(({ groups }) => ({
    from,
    to: target(from, groups!.to!),
    typeOnly: groups!.type !== undefined,
  }));
}

function target(from: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier);
  if (specifier.startsWith('node:')) return specifier;
  const [first = '', second = ''] = specifier.split('/');
  const name = first.startsWith('@') ? `${first}/${second}` : first;
  if (name !== 'longshore') return name;
  return posix.normalize(manifest.exports[specifier.replace('longshore', '.')] ?? specifier);
}

export const imports: readonly Import[] = sources.flatMap((from) => importsOf(from, read(from)));

/** Every circle of imports, types included: each as the files on it. */
export function circles(edges: readonly Import[]): string[] {
  const next = Map.groupBy(edges, ({ from }) => from);
  const done = new Set<string>();
  const found: string[] = [];
  function walk(path: string, trail: readonly string[]): void {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (done.has(path) || trail.includes(path)) return;
    for (const { to } of next.get(path) ?? []) walk(to, [...trail, path]);
    done.add(path);
  }
  for (const path of next.keys()) walk(path, []);
  return found;
}

export const inside = (folder: string) => (path: string) => path.startsWith(`${folder}/`);
