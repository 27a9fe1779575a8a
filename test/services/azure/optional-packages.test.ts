/** What an app does not use need not be installed: bundles without the SDKs of Azure, in a folder that has none of them. */

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'longshore-optional-'));
  for (const part of ['core', 'functions/azure'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  for (const name of Object.keys(dependencies)) link(name);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function link(name: string): void {
  const path = join(folder, 'node_modules', name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(join(root, 'node_modules', name), path);
}

const entry = `
  import { blobPayloads, serviceBus, tableStore } from './functions/azure/index.ts';
  const connectionString = 'UseDevelopmentStorage=true';
  const bus = 'Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true;';
  const uses = {
    table: () => tableStore({ table: 'jobs', connectionString }).keys.claim('a', 'b', 1),
    blob: () => blobPayloads({ container: 'claims', connectionString }).delete('a'),
    bus: () => serviceBus({ connectionString: bus, queues: ['mail'], maxRetries: 0, timeoutMs: 1_000 }).checkFailed('mail'),
  };
  const said = {};
  for (const [name, use] of Object.entries(uses))
    said[name] = await use().then(() => 'done', ({ code, message }) => code + ': ' + message);
  console.log(JSON.stringify(said));
  process.exit(0);`;

async function bundled(name: string): Promise<Record<string, string>> {
  writeFileSync(join(folder, 'entry.ts'), entry);
  const outfile = join(folder, `${name}.mjs`);
  await build({
    entryPoints: [join(folder, 'entry.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" },
    logLevel: 'silent',
  });
  return JSON.parse((await promisify(execFile)(process.execPath, [outfile], { cwd: folder })).stdout);
}

const missing = (name: string) => `CONFIG: The package ${name} is not installed. Run npm install ${name}.`;

it('a bundle without any of the SDKs runs, and says which one a call needs', async () => {
  expect(await bundled('without')).toEqual({
    table: missing('@azure/data-tables'),
    blob: missing('@azure/storage-blob'),
    bus: missing('@azure/service-bus'),
  });
});

it('a bundle has the SDK that is installed, and runs without the others', async () => {
  link('@azure/service-bus');
  expect(await bundled('with')).toMatchObject({
    table: missing('@azure/data-tables'),
    blob: missing('@azure/storage-blob'),
    bus: expect.stringMatching(/^BACKEND: .*"mail-failed"/),
  });
});
