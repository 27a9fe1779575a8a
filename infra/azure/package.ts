/**
 * `npm run package:azure`: creates the folder to deploy as a function app, and the template of its resources, without network and credentials.
 * `node infra/azure/package.ts [folder]`, by default `dist/azure`. docs/azure.md describes the deployment.
 */

import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { createExampleApp } from '../../examples/app/app.ts';
import { onDemand } from '../aws/bundle.ts';
import { installed, writeManifest } from '../installed-packages.ts';
import { template } from './template.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = resolve(process.argv[2] ?? join(root, 'dist/azure'));

rmSync(folder, { recursive: true, force: true });
writeManifest(folder, { type: 'module', main: 'main.mjs' }); // the Functions worker loads it
const { metafile } = await build({
  entryPoints: { main: join(root, 'examples/azure/main.ts') },
  outdir: folder,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  mainFields: ['module', 'main'],
  external: ['@azure/functions-core'], // only the host has it
  plugins: [onDemand(installed)],
  // Older packages load Node's modules with `require`.
  banner: {
    js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
  },
  metafile: true,
  logLevel: 'warning',
});
copyFileSync(join(root, 'host.json'), join(folder, 'host.json'));
// Beside the folder, because it is not part of the app.
const { app } = createExampleApp({} as never); // for its queues; no job runs here
writeFileSync(`${folder}.template.json`, `${JSON.stringify(template(app.queues), null, 2)}\n`);
const start = Object.keys(metafile.outputs).find((path) => path.endsWith('main.mjs'))!;
const kilobytes = Math.round(metafile.outputs[start]!.bytes / 1024);
console.log(
  `The function app starts with ${kilobytes} KB of code; it is in ${folder}, and what it needs in ${folder}.template.json`,
);
