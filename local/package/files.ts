/** Writes the files of a deployment: all or none, and none over a file that somebody has changed. */

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { config } from '../../core/base/errors.ts';

/** Throws `CONFIG` for files that exist with another content. @param files texts by path */
export function refuseChanged(folder: string, files: Readonly<Record<string, string>>): void {
  const changed = Object.entries(files).flatMap(([path, text]) => {
    const at = join(folder, path);
    return existsSync(at) && !isSame(at, text) ? [path] : [];
  });
  if (changed.length === 0) return;
  const are = changed.length === 1 ? 'exists and is' : 'exist and are';
  throw config(
    `${changed.join(', ')} in ${folder} ${are} different from what would be written. Keep yours with --template none, take another folder with --out, or overwrite it with --force.`,
  );
}

/** A formatter may have laid out JSON in another way. */
function isSame(path: string, text: string): boolean {
  const there = readFileSync(path, 'utf8');
  if (!path.endsWith('.json')) return there === text;
  try {
    return JSON.stringify(JSON.parse(there)) === JSON.stringify(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Returns the paths that did not exist, or had another content. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): string[] {
  const written = Object.entries(files).filter(([path, text]) => {
    const at = join(folder, path);
    return !(existsSync(at) && isSame(at, text));
  });
  for (const [path, text] of written) {
    const at = join(folder, path);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, text);
  }
  return written.map(([path]) => path);
}

/** Replaces the parts of an earlier bundle. Packages that were installed beside it stay. */
export function replaceBundle(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(to)) if (name.endsWith('.mjs')) rmSync(join(to, name));
  cpSync(from, to, { recursive: true });
}

/** A package.json for `npm install` beside the bundle, with the versions that are installed here. */
export function manifest(entry: string, fields: object, installed: readonly string[]): string {
  const here = createRequire(entry);
  const versions = installed.map((name) => {
    const paths = here.resolve.paths(name) ?? [];
    return [
      name,
      versionIn(
        name,
        paths.map((folder) => join(folder, name, 'package.json')),
      ),
    ];
  });
  const content = { ...fields, private: true, type: 'module', dependencies: Object.fromEntries(versions) };
  return `${JSON.stringify(content, null, 2)}\n`;
}

function versionIn(name: string, paths: readonly string[]): string {
  const path = paths.find((one) => existsSync(one));
  if (path === undefined)
    throw config(
      `The package "${name}", which \`installed\` of the deployment names, is not installed here. Run npm install ${name}.`,
    );
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
