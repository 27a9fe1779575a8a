/**
 * Builds the package: `node infra/release/build.ts [folder]`, by default into `dist/package` after emptying `dist`.
 * `npm pack dist/package` then makes the release tarball.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writePage } from '../dashboard/build.ts';
import { bundleCore } from './bundle.ts';
import { stage } from './stage.ts';

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

const compiler = join(root, 'node_modules/typescript/bin/tsc');
const options = ['-p', join(root, 'tsconfig.build.json'), '--outDir', folder];
const compiled = spawnSync(process.execPath, [compiler, ...options], { stdio: 'inherit' });
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

await writePage();
const manifest = stage(root, folder);
await bundleCore(folder);
console.log(`${manifest.name} ${manifest.version} is in ${folder}`);
