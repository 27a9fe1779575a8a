/**
 * Builds the package: `node infra/release/build.ts [folder]`, by default into `dist/package` after emptying `dist`.
 * `npm pack dist/package` then makes the release tarball.
 */

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writePage } from '../dashboard/build.ts';
import { bundleCode } from './code.ts';
import { entriesOf, type Manifest, publishedManifest } from './manifest.ts';
import { writePapers } from './papers.ts';
import { bundleTypes } from './types.ts';

const root = resolve(import.meta.dirname, '../..');
const given = process.argv[2];
const folder = given ? resolve(given) : join(root, 'dist/package');

if (!given) rmSync(join(root, 'dist'), { recursive: true, force: true });
else if (existsSync(folder)) {
  console.error(
    `Expected a folder that does not exist yet, got ${folder}: what is left in it would be released.`,
  );
  process.exit(1);
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
await writePage();
await bundleCode(root, folder, entriesOf(manifest));
await bundleTypes(root, folder, Object.values(manifest.exports));
writePapers(root, folder, manifest);
const published = publishedManifest(manifest, readdirSync(folder));
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
console.log(`${manifest.name} ${manifest.version} is in ${folder}`);
