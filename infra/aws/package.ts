/**
 * `npm run package:aws`: bundles the example's functions and creates the template of their deployment with osls, without network and
 * credentials. `node infra/aws/package.ts [folder]`, by default into `dist/aws`. The addresses in this template are placeholders: osls creates
 * another template with the real ones when it deploys.
 */

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { installed, writeManifest } from '../installed-packages.ts';
import { bundleFunction } from './bundle.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = resolve(process.argv[2] ?? join(root, 'dist/aws'));
const code = join(root, 'dist/functions');

rmSync(code, { recursive: true, force: true });
const { startBytes } = await bundleFunction(join(root, 'examples/aws/main.ts'), code, installed);
writeManifest(code);
const osls = createRequire(import.meta.url).resolve('osls/bin/serverless.js');
const addresses = ['webhookUrl', 'paymentUrl'].map((name) => `--param=${name}=https://${name}.invalid`);
const { status } = spawnSync(process.execPath, [osls, 'package', '--package', folder, ...addresses], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    SLS_NOTIFICATIONS_MODE: 'off',
    SLS_TELEMETRY_DISABLED: '1',
    AWS_REGION: 'eu-central-1',
  },
});
if (status !== 0) process.exit(status ?? 1);
console.log(
  `The functions start with ${Math.round(startBytes / 1024)} KB of code; their template is in ${folder}
Before you deploy: npm install --prefix dist/functions --os=linux --cpu=arm64 --libc=glibc`,
);
