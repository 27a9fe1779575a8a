/** Packages of the example with native code or files. They cannot be bundled; they are installed for the machine that runs the example. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const installed = ['sharp', 'pdfkit'] as const;

/** Writes a package.json for `npm install` with the versions with which the example is tested. */
export function writeManifest(folder: string, more: object = {}): void {
  const root = resolve(import.meta.dirname, '..');
  const { version, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const dependencies = Object.fromEntries(installed.map((name) => [name, devDependencies[name]]));
  const manifest = { name: 'longshore-example', version, private: true, ...more, dependencies };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
