/** Builds the package `create-longshore`: `node infra/create/build.ts [folder]`, by default into `dist/create`. */

import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { publishedManifest } from '../release/manifest.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = resolve(process.argv[2] ?? join(root, 'dist/create'));

await build({
  entryPoints: [join(import.meta.dirname, 'create.ts')],
  outdir: folder,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node18', // an old Node reads it, and gets a sentence
});
for (const paper of ['LICENSE', 'infra/create/README.md'])
  copyFileSync(join(root, paper), join(folder, paper.split('/').at(-1)!));

/** The fields of Longshore, with its version: the two are released together. */
const { exports, bin, dependencies, peerDependencies, peerDependenciesMeta, sideEffects, ...shared } =
  publishedManifest(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')), []);
const manifest = {
  ...shared,
  name: 'create-longshore',
  description: 'Makes a project with Longshore, background jobs in TypeScript.',
  bin: { 'create-longshore': 'create.js' },
  files: ['create.js', 'README.md', 'LICENSE'],
};
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
console.log(`${manifest.name} ${shared.version} is in ${folder}`);
