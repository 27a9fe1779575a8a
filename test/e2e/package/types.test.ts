/** The types of the package, as the compiler reads them in a user's project. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compile, installConsumer, installTimeoutMs, jobs, root, subpaths } from './kit.ts';

let temporary = '';
let consumer = '';

beforeAll(async () => {
  ({ temporary, consumer } = await installConsumer(['zod']));
}, installTimeoutMs);
afterAll(() => rmSync(temporary, { recursive: true, force: true }), 60_000); // thousands of files

const strict = { strict: true, target: 'es2024', types: ['node'] };
/** What `tsc --init` demands: a name for every type that a user exports. */
const emit = {
  declaration: true,
  emitDeclarationOnly: true,
  rewriteRelativeImportExtensions: true,
  outDir: 'types',
};

/** A project in a folder of its own, which finds the packages of the consumer. */
function project(
  name: string,
  type: string,
  files: Readonly<Record<string, string>>,
  compilerOptions: object,
): string {
  const folder = join(consumer, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, type }));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: Object.keys(files) }),
  );
  return folder;
}

describe('the types of the package', () => {
  it('pass a strict check, with those of all packages that they name', async () => {
    const entries = subpaths.map((subpath, i) => `export * as entry${i} from '${subpath}';`);
    const files = { 'jobs.ts': jobs, 'entries.ts': entries.join('\n') };
    await compile(
      project('checked', 'module', files, {
        ...strict,
        module: 'nodenext',
        skipLibCheck: false,
        noEmit: true,
      }),
    );
  });

  it('have no hole: what is not there is refused', async () => {
    const files = {
      'wrong.ts': "import { nothing } from 'longshore/local';\nexport const n: number = nothing;",
    };
    const folder = project('wrong', 'module', files, { ...strict, module: 'nodenext', noEmit: true });
    await expect(compile(folder)).rejects.toThrow(
      /TS2305: Module '"longshore\/local"' has no exported member 'nothing'/,
    );
  });

  const kinds = [
    { kind: 'ES modules, nodenext', type: 'module', options: { module: 'nodenext' } },
    { kind: 'CommonJS, nodenext', type: 'commonjs', options: { module: 'nodenext' } },
    {
      kind: 'ES modules for a bundler',
      type: 'module',
      options: { module: 'esnext', moduleResolution: 'bundler' },
    },
  ];

  it.each(kinds)('have a name for every type that a user exports: $kind', async ({ kind, type, options }) => {
    const own = { ...strict, ...emit, ...options, skipLibCheck: true };
    const name = kind.replaceAll(/\W+/g, '-');
    await compile(project(name, type, exporting, own));
    // A config that imports nothing but a backend.
    await compile(project(`${name}-alone`, type, { 'backend.ts': exporting['backend.ts'] }, own));
    await compile(project(`${name}-tutorial`, type, tutorial(), own));
  });
});

/** The TypeScript files that the tutorial writes. */
function tutorial(): Record<string, string> {
  const page = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');
  const written = [...page.matchAll(/^cat > (\S+\.ts) <<'END'\n(.*?)^END$/gms)];
  const files = Object.fromEntries(written.map(([, name, text]) => [name!, text!]));
  expect(Object.keys(files)).toEqual(expect.arrayContaining(['jobs.ts', 'longshore.config.ts']));
  return files;
}

/** What users' files may export, without a type of their own beside it. */
const exporting = {
  'backend.ts': `
import { sqlite, sqliteStore } from 'longshore/local/sqlite';
export const backend = () => sqlite('.longshore/jobs.db');
export const store = () => sqliteStore('.longshore/jobs.db');`,
  'jobs.ts': jobs.replace(/^const local = .*/ms, '').replaceAll(/^const (greet|app) /gm, 'export const $1 '),
  'client.ts': `
import { connect, defineJob, keyRing, parseSigningKeys, startWorker } from 'longshore';
import { dynamoStore, s3Payloads, sqs } from 'longshore/aws';
import { blobPayloads, serviceBus, tableStore } from 'longshore/azure';
import { createHttpHandler } from 'longshore/http';
import { directoryPayloads } from 'longshore/local';
import { beanstalkd } from 'longshore/local/beanstalkd';
import { memory, memoryStore } from 'longshore/local/memory';
import { postgres, postgresStore } from 'longshore/local/postgres';
import { redis } from 'longshore/local/redis';
import { sync } from 'longshore/local/sync';
import { createOperator } from 'longshore/operator';
import { telemetry } from 'longshore/otel';
import { metrics } from 'longshore/prometheus';
import { testApp } from 'longshore/testing';
import { app, greet } from './jobs.ts';
export const backends = [memory(), redis('x'), beanstalkd('x'), sync(app)];
export const others = [postgres('x'), sqs({} as never), serviceBus({} as never)];
export const stores = [memoryStore(), postgresStore('x'), dynamoStore({} as never), tableStore({} as never)];
export const payloads = [directoryPayloads('x'), s3Payloads({} as never), blobPayloads({} as never)];
export const client = connect(app, memory());
export const { batches, chains, schedules } = client;
export const ring = keyRing([]);
export const keys = parseSigningKeys('x');
export const sent = client.enqueue(greet, { name: 'x' });
export const many = client.enqueueMany(greet, [{ name: 'x' }]);
export const batch = client.batch('b', [{ name: 'x' }], { job: greet });
export const got = client.batches.get('x');
export const listed = client.batches.list();
export const chain = client.chains.get('x');
export const made = client.schedules.list();
export const cancelled = client.cancel('x');
export const status = client.status('x');
export const numbers = client.metrics();
export const worker = startWorker(app, { backend: memory() });
export const operator = createOperator(client, {} as never);
export const http = createHttpHandler(client, {} as never);
export const tracing = telemetry({} as never);
export const prometheus = metrics(client);
export const tested = testApp(app);
const payload = {} as never;
export const waits = defineJob({ name: 'a', payload, handle: (_: object, ctx) => ctx.waitFor('x', { timeoutMs: 1 }) });
export const ends = defineJob({ name: 'b', payload, handle: (_: object, ctx) => ctx.waitForBatch('x', { timeoutMs: 1 }) });
export const sends = defineJob({ name: 'c', payload, handle: (_: object, ctx) => ctx.enqueue(greet, { name: 'x' }) });`,
};
