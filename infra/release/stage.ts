/** Completes the compiled tree to a folder that `npm pack` can release as it is. */

import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, extname, join } from 'node:path';

/** As much of package.json as is read or changed here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

const shipped = ['core', 'functions', 'local'];
const papers = ['README.md', 'LICENSE', 'CHANGELOG.md'];

export function stage(root: string, folder: string): Manifest {
  for (const part of shipped.filter((name) => existsSync(join(root, name)))) {
    cpSync(join(root, part), join(folder, part), { recursive: true, filter: isAsset });
  }
  for (const paper of papers) copyFileSync(join(root, paper), join(folder, paper));
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (path.endsWith('.js.map')) placeSource(join(folder, path));
  }
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  const text = JSON.stringify(publishedManifest(manifest), null, 2);
  writeFileSync(join(folder, 'package.json'), `${text}\n`);
  return manifest;
}

/** What the compiler leaves behind. A list, so that a key or a database lying about is never released. */
function isAsset(path: string): boolean {
  return (
    statSync(path).isDirectory() || ['.sql', '.lua', '.html', '.css', '.svg', '.json'].includes(extname(path))
  );
}

/** A source map carries its source; the path from the build folder to the sources would name this machine's folders. */
function placeSource(path: string): void {
  const map = JSON.parse(readFileSync(path, 'utf8')) as { sources: string[] };
  map.sources = map.sources.map((source) => basename(source));
  writeFileSync(path, JSON.stringify(map));
}

/** The repository's package.json without what only a checkout needs, its exports and bin pointing at the built files. */
export function publishedManifest(manifest: Manifest): Record<string, unknown> {
  // `main` is what the worker of Azure Functions loads here; whoever installs the package goes by `exports`.
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
