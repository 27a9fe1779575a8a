/** A bundle of an app of somebody's own, in the host. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { afterAll, expect, it } from 'vitest';
import { startFunctions } from '../../../local/simulate/functions/host.ts';

const root = resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'longshore-bundle-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const contents = `
  import { app as functions } from '@azure/functions';
  import { azure } from './functions/azure/index.ts';
  import { createApp, defineJob } from './core/index.ts';
  import * as z from 'zod';
  const job = defineJob({ name: 'mail.send', queue: 'mail', payload: z.null(), async handle() {} });
  azure(createApp({ jobs: [job] }), { connection: 'SERVICEBUS_CONNECTION', store: () => ({}), functions });`;

/** @param banner that of docs/azure.md, or another one */
async function hostOf(name: string, banner: string) {
  const outfile = join(folder, `${name}.mjs`);
  await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['@azure/functions-core'],
    banner: { js: banner },
    logLevel: 'silent',
  });
  return startFunctions(() => import(outfile));
}

it('has functions', async () => {
  const host = await hostOf(
    'right',
    "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
  );
  expect(host.functions.map(({ name }) => name)).toContain('longshore-worker-mail');
});

it('that hides the host from @azure/functions is refused: it would have no functions', async () => {
  const blind = `import{createRequire as requireOf}from'node:module';const hostRequire=requireOf(import.meta.url);
    const require=(id)=>{if(id==='@azure/functions-core')throw new Error('Dynamic require');return hostRequire(id)};`;
  await expect(hostOf('blind', blind)).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringMatching(/runs in its test mode, so no function was registered/),
  });
});
