/**
 * Builds the dashboard's page: `node infra/dashboard/build.ts` writes `core/surfaces/dashboard/built/page.js`, a module with every file of the
 * page, compressed. With `--if-possible`, as after an install, it does nothing where Vite is not installed.
 */

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { crossedFeatures } from '../docs/crossings.ts';

const root = resolve(import.meta.dirname, '../..');
export const builtPage = join(root, 'core/surfaces/dashboard/built/page.js');

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface PageFile {
  readonly path: string;
  readonly type: string;
  readonly gzip: Buffer;
}

export async function compilePage(): Promise<readonly PageFile[]> {
  const { build } = await import('vite');
  const result = await build({
    root: import.meta.dirname,
    configFile: false,
    logLevel: 'warn',
    base: './', // it may be mounted under any path
    define: { crossedFeatures: JSON.stringify(crossedFeatures()) },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      write: false,
      target: 'es2023',
      modulePreload: false,
      assetsInlineLimit: 0, // the page's policy allows no data: addresses
      cssCodeSplit: false,
    },
  });
  const { output } = (Array.isArray(result) ? result[0] : result) as {
    output: readonly { fileName: string; code?: string; source?: string | Uint8Array }[];
  };
  return output
    .map(({ fileName: path, code, source }) => {
      const type = types[extname(path)];
      if (type === undefined) throw new Error(`Expected files of known types, got ${path}.`);
      return { path, type, gzip: gzipSync(code ?? source ?? '', { level: 9 }) };
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

export async function writePage(): Promise<readonly PageFile[]> {
  const files = await compilePage();
  const lines = files.map(({ path, type, gzip }) => {
    const value = { type, gzip: gzip.toString('base64') };
    return `  ${JSON.stringify(path)}: ${JSON.stringify(value)},\n`;
  });
  mkdirSync(dirname(builtPage), { recursive: true });
  // Renamed at the end, so that a concurrent reader gets a complete file.
  const fresh = `${builtPage}.${process.pid}`;
  writeFileSync(fresh, `export const files = {\n${lines.join('')}};\n`);
  renameSync(fresh, builtPage);
  return files;
}

export const sizeOf = (files: readonly PageFile[]): number =>
  files.reduce((sum, { gzip }) => sum + gzip.length, 0);

function hasVite(): boolean {
  try {
    import.meta.resolve('vite');
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  if (process.argv.includes('--if-possible') && !hasVite())
    console.log('The dashboard has no page here: Vite is not installed.');
  else console.log(`The dashboard's page has ${Math.ceil(sizeOf(await writePage()) / 1024)} KB, compressed.`);
}
