/** Completes the compiled tree, so that `npm pack` can release the folder. */

import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';

/** The fields of package.json that are used here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

const shipped = ['core', 'functions', 'local'];
const builtFolder = 'core/surfaces/dashboard/built';
const papers = ['README.md', 'LICENSE', 'CHANGELOG.md'];

export function stage(root: string, folder: string): Manifest {
  for (const part of shipped.filter((name) => existsSync(join(root, name)))) {
    cpSync(join(root, part), join(folder, part), { recursive: true, filter: isAsset });
  }
  // Created by a bundler, so the compiler does not copy it.
  cpSync(join(root, builtFolder), join(folder, builtFolder), { recursive: true });
  for (const paper of papers) copyFileSync(join(root, paper), join(folder, paper));
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (path.endsWith('.js.map')) nameSources(join(folder, path));
    if (path.endsWith('.js')) inlineScripts(root, folder, path);
  }
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  const text = JSON.stringify(publishedManifest(manifest), null, 2);
  writeFileSync(join(folder, 'package.json'), `${text}\n`);
  return manifest;
}

/** Replaces the URL of a script by its text: a bundler does not copy files that are read beside `import.meta.url`. */
function inlineScripts(root: string, folder: string, path: string): void {
  const code = readFileSync(join(folder, path), 'utf8');
  const inlined = code.replace(/new URL\('(\.\/[\w-]+\.lua)', import\.meta\.url\)/g, (_, script: string) =>
    JSON.stringify(readFileSync(join(root, dirname(path), script), 'utf8')),
  );
  if (inlined !== code) writeFileSync(join(folder, path), inlined);
}

/** Files that the compiler does not copy. An explicit list, so that a stray key or database is never released. */
function isAsset(path: string): boolean {
  return statSync(path).isDirectory() || ['.sql', '.html', '.css', '.svg', '.json'].includes(extname(path));
}

/** Keeps only the names of sources: their paths would show folders of this machine. */
function nameSources(path: string): void {
  const map = JSON.parse(readFileSync(path, 'utf8')) as { sources: string[] };
  map.sources = map.sources.map((source) => basename(source));
  writeFileSync(path, JSON.stringify(map));
}

/** package.json without the parts for a checkout. Its exports and bin name the built files. */
export function publishedManifest(manifest: Manifest): Record<string, unknown> {
  // `main` is for the worker of Azure Functions in this repository. The package has `exports`.
  const {
    private: _,
    main,
    scripts,
    allowScripts,
    devDependencies,
    optionalDependencies,
    ...published
  } = manifest;
  const exports = Object.entries(manifest.exports).map(([subpath, source]) => [subpath, builtFrom(source)]);
  const bin = Object.entries(manifest.bin).map(([name, source]) => [name, source.replace(/\.ts$/, '.js')]);
  return {
    ...published,
    exports: Object.fromEntries(exports),
    bin: Object.fromEntries(bin),
    files: [...shipped, 'test', ...papers],
  };
}

function builtFrom(source: string): { types: string; default: string } {
  const path = source.replace(/\.ts$/, '');
  return { types: `${path}.d.ts`, default: `${path}.js` };
}
