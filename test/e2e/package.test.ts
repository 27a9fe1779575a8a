/** Builds the package, packs it, installs the tarball in an empty project and uses it there as a user would. */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleFunction } from '../../infra/aws/bundle.ts';
import { mostBytes } from '../bench/aws/start.ts';
import { shared } from '../kit/shared/shared.ts';

const root = resolve(import.meta.dirname, '../..');
const { exports, engines, devDependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
/** For `longshore simulate`, which says what it misses. */
const tools = ['aws-lambda-ric', 'esbuild', 'fauxqs'];
/** Who uses a subpath installs its driver; here all of them. */
const drivers = Object.fromEntries(
  Object.keys(peerDependencies)
    .filter((name) => !tools.includes(name))
    .map((name) => [name, devDependencies[name]]),
);
const subpaths = Object.keys(exports).map((subpath) => subpath.replace('.', 'longshore'));

const temporary = mkdtempSync(join(tmpdir(), 'longshore-package-'));
let packed = '';
const consumer = join(temporary, 'consumer');
let tarball = '';
let files: readonly string[] = [];

const env = { ...process.env, LONGSHORE_SIGNING_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}` };
const execute = promisify(execFile);

/** Resolves with what the program printed; a failure shows it too. The timeout only ends what hangs. */
async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  timeout = 110_000,
): Promise<string> {
  try {
    return (await execute(command, args, { cwd, env, timeout })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
}

const runModule = (text: string): Promise<string> =>
  run(process.execPath, ['--input-type=module', '--eval', text], consumer);

beforeAll(async () => {
  ({ folder: packed, tarball, files } = await shared('release'));

  const project = {
    name: 'consumer',
    private: true,
    type: 'module',
    dependencies: { longshore: `file:${tarball}`, ...drivers },
    devDependencies: { '@types/node': devDependencies['@types/node'] },
  };
  // With this repository's lock as a start, npm finds all it needs in the cache that `npm ci` filled.
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  lock.packages[''] = { name: 'consumer' };
  mkdirSync(consumer);
  writeFileSync(join(consumer, 'package.json'), JSON.stringify(project));
  writeFileSync(join(consumer, 'package-lock.json'), JSON.stringify(lock));
  await run(
    'npm',
    ['install', '--prefer-offline', '--ignore-scripts', '--prefix', consumer],
    consumer,
    200_000,
  );
}, 400_000); // the release is built first, or another test is building it

afterAll(() => rmSync(temporary, { recursive: true, force: true }), 60_000); // thousands of files

describe('the tarball', () => {
  it('holds the built code, its types and the papers, and nothing else', () => {
    const papers = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];
    expect(files).toEqual(expect.arrayContaining(papers));
    const code =
      /^((core|functions|local)\/[\w/-]+|test\/testing\/(laws\/)?[\w-]+)\.(js|js\.map|d\.ts|sql|html|css|svg|json)$/;
    expect(files.filter((file) => !papers.includes(file) && !code.test(file))).toEqual([]);
  });

  it('tells nothing about the machine it was built on, and no secret', () => {
    const told = ['PRIVATE KEY', '_authToken', `${root}/`, `${temporary}/`];
    const tells = (text: string): boolean => told.some((word) => text.includes(word));
    expect(files.filter((file) => tells(readFileSync(join(packed, file), 'utf8')))).toEqual([]);
    const maps = files.filter((file) => file.endsWith('.map'));
    const sources = maps.flatMap((file) => JSON.parse(readFileSync(join(packed, file), 'utf8')).sources);
    expect(sources.filter((source: string) => /^\/|\.\./.test(source))).toEqual([]);
  });

  it('asks of its users only what it needs at run time', () => {
    const manifest = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8'));
    const checkoutOnly = ['private', 'scripts', 'allowScripts', 'devDependencies', 'optionalDependencies'];
    expect(Object.keys(manifest).filter((field) => checkoutOnly.includes(field))).toEqual([]);
    expect(Object.keys(manifest.dependencies)).toEqual([
      'cli-progress',
      'commander',
      'croner',
      'pino',
      'srvx',
    ]);
    expect(manifest.engines).toEqual(engines);
    const installed = readdirSync(join(consumer, 'node_modules'));
    expect(installed.filter((name) => name.startsWith('node-linux'))).toEqual([]);
  });

  it('has nothing that publint would complain about', async () => {
    const data = readFileSync(tarball);
    const pack = { tarball: data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) };
    const { messages } = await publint({ pack, level: 'suggestion', strict: true });
    expect(messages).toEqual([]);
  });

  it('has types that are right for every entry', async () => {
    const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    const options = [tarball, '--profile', 'esm-only', '--no-definitely-typed', '--format', 'json'];
    const printed = await run(process.execPath, [attw, ...options], temporary);
    const { analysis, problems } = JSON.parse(printed);
    // The report names them all; those of require() and of TypeScript before 4.7 are what "ESM only" means.
    const told = Object.values<{ resolutionKind?: string }[]>(problems ?? {}).flat();
    const legacy = ['node10', 'node16-cjs'];
    expect(told.filter(({ resolutionKind = '' }) => !legacy.includes(resolutionKind))).toEqual([]);
    expect(Object.keys(analysis.entrypoints)).toEqual(Object.keys(exports));
  });
});

describe('an installed package', () => {
  it.each(subpaths)('lets %s be imported', async (subpath) => {
    const names = await runModule(`console.log(Object.keys(await import('${subpath}')).join())`);
    expect(names.trim()).not.toBe('');
  });

  it('passes a strict type check, declarations included', async () => {
    const options = { strict: true, module: 'nodenext', target: 'es2024', skipLibCheck: false, noEmit: true };
    const tsconfig = { compilerOptions: { ...options, types: ['node'] }, files: ['jobs.ts', 'entries.ts'] };
    writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify(tsconfig));
    writeFileSync(join(consumer, 'jobs.ts'), jobs);
    const entries = subpaths.map((subpath, i) => `export * as entry${i} from '${subpath}';`);
    writeFileSync(join(consumer, 'entries.ts'), entries.join('\n'));
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], consumer);
  });

  it('has a name for every type that a user exports, as `declaration: true` of tsc --init demands', async () => {
    const options = {
      strict: true,
      module: 'nodenext',
      target: 'es2024',
      skipLibCheck: true,
      types: ['node'],
    };
    const emit = {
      declaration: true,
      emitDeclarationOnly: true,
      rewriteRelativeImportExtensions: true,
      outDir: 'types',
    };
    const tsconfig = { compilerOptions: { ...options, ...emit }, files: Object.keys(exporting) };
    writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify(tsconfig));
    for (const [name, text] of Object.entries(exporting)) writeFileSync(join(consumer, name), text);
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], consumer);
    // A config that imports nothing but a backend.
    writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ ...tsconfig, files: ['backend.ts'] }));
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], consumer);
  });

  it('runs a job to its end on SQLite, and lets the process exit', async () => {
    writeFileSync(join(consumer, 'jobs.ts'), jobs);
    const printed = await run(process.execPath, ['jobs.ts'], consumer);
    expect(printed.trim().split('\n').at(-1)).toBe('completed: Hello, Ada');
  });

  it('brings the page of the dashboard', async () => {
    const printed = await runModule(`
      import { createApp } from 'longshore';
      import { dashboard } from 'longshore/dashboard';
      import { memory } from 'longshore/local/memory';
      const authorize = () => ({ actor: 'ada', role: 'reader' });
      const handler = dashboard(createApp({ jobs: [] }), memory(), { authorize });
      const page = await (await handler(new Request('http://localhost/'))).text();
      const script = /src="\\.(\\/assets\\/[^"]+\\.js)"/.exec(page)[1];
      const { status, headers } = await handler(new Request('http://localhost' + script));
      console.log(status, headers.get('content-type'));`);
    expect(printed.trim()).toMatch(/^200 text\/javascript/);
  });

  it('says what a simulation needs that is not installed', async () => {
    writeFileSync(
      join(consumer, 'longshore.config.js'),
      `import { createApp } from 'longshore';
      import { memory } from 'longshore/local/memory';
      export const app = createApp({ jobs: [] });
      export const backend = () => memory();
      export const simulation = { entry: './longshore.config.js' };`,
    );
    const command = join(consumer, 'node_modules/longshore/local/cli/main.js');
    const ended = execute(process.execPath, [command, 'simulate', 'lambda'], { cwd: consumer, env });
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/--ignore-scripts aws-lambda-ric esbuild fauxqs\./),
    });
  });

  it('loads with longshore neither a logger nor a database nor a test', async () => {
    const loaded = await runModule(`
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
      await import('longshore');
      console.log(JSON.stringify(loaded));`);
    const urls: string[] = JSON.parse(loaded);
    expect(urls).toContainEqual(expect.stringMatching(/\/longshore\/core\/index\.js$/));
    expect(urls, 'built-in modules are seen too').toContain('node:async_hooks');
    expect(urls, 'loaded when a key is first used').not.toContain('node:crypto');
    const foreign = /node:sqlite|\/longshore\/(?!core\/)|node_modules\/(?!longshore\/|croner\/)/;
    expect(urls.filter((url) => foreign.test(url))).toEqual([]);
  });

  it('starts a bundled worker with no other package', async () => {
    const bundle = await build({
      stdin: {
        contents: `export { connect, createApp, defineJob, startWorker } from 'longshore';`,
        resolveDir: consumer,
      },
      bundle: true,
      minify: true,
      splitting: true,
      outdir: 'bundled',
      write: false,
      metafile: true,
      platform: 'node',
      format: 'esm',
      absWorkingDir: consumer,
    });
    const { outputs } = bundle.metafile;
    const atStart = new Set(Object.keys(outputs).filter((path) => outputs[path]!.entryPoint === '<stdin>'));
    for (const path of atStart) {
      for (const { path: next, kind } of outputs[path]!.imports)
        if (kind === 'import-statement' && outputs[next]) atStart.add(next);
    }
    const inputs = [...atStart].flatMap((path) => Object.entries(outputs[path]!.inputs));
    const files = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
    expect(files.filter((path) => !path.startsWith('node_modules/longshore/core/'))).toEqual([]);
    expect(files.length).toBeGreaterThan(0);
  });

  it.each(['esm', 'cjs'] as const)(
    'brings the scripts of Redis into a bundle of format %s',
    async (format) => {
      const outfile = join(consumer, `redis.${format === 'esm' ? 'mjs' : 'cjs'}`);
      const contents = `import { redis } from 'longshore/local/redis';
      redis('redis://127.0.0.1:1').admin.stats().catch(({ code }) => console.log(code));`;
      const banner = {
        js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
      };
      await build({
        stdin: { contents, resolveDir: consumer },
        bundle: true,
        platform: 'node',
        format,
        outfile,
        logLevel: 'error',
        ...(format === 'esm' && { banner }),
      });
      expect(await run(process.execPath, [outfile], temporary)).toBe('BACKEND\n');
    },
  );

  it('lets a function on Lambda start without the code of the first job', async () => {
    const entry = join(consumer, 'function.mjs');
    writeFileSync(entry, lambdaFunction);
    const { startBytes, startInputs } = await bundleFunction(entry, join(consumer, 'function'));
    expect(startInputs.filter((path) => /bundle-(run|worker)\.js$|croner|@aws-sdk/.test(path))).toEqual([]);
    expect(startInputs.some((path) => path.endsWith('longshore/core/bundle.js'))).toBe(true);
    expect(startBytes).toBeLessThanOrEqual(mostBytes);
  });
});

/** The smallest function there is: one job that does nothing. */
const lambdaFunction = `
import { createApp, defineJob, keyRing } from 'longshore';
import { lambda, sqs } from 'longshore/aws';

const payload = { '~standard': { version: 1, vendor: 'consumer', validate: () => ({ value: null }) } };
const job = defineJob({ name: 'nothing', queue: 'mail', payload, handle: () => null });
const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
const store = { keys: {}, records: {}, workers: {} };
export const { worker } = lambda(app, { backend: sqs({ queueUrl: 'http://127.0.0.1:1/000000000000/x-' }), store });
`;

/** A user's file: one job with a schema of its own, run on SQLite. */
const jobs = `
import { createApp, defineJob } from 'longshore';
import { startLocal } from 'longshore/local';
import { sqlite } from 'longshore/local/sqlite';

const payload = {
  '~standard': {
    version: 1,
    vendor: 'consumer',
    validate: (value: unknown) => ({ value: value as { name: string } }),
    types: undefined as unknown as { input: { name: string }; output: { name: string } },
  },
} as const;
const greet = defineJob({ name: 'greet', payload, handle: ({ name }) => \`Hello, \${name}\` });
const app = createApp({ jobs: [greet] });
const local = await startLocal(app, { backend: sqlite('jobs.db'), logger: false });
const { id } = await local.client.enqueue(greet, { name: 'Ada' });
// @ts-expect-error a name is a string
const wrong = () => local.client.enqueue(greet, { name: 1 });

const deadlineAt = Date.now() + 10_000;
let record = await local.client.status(id);
while (record?.status !== 'completed' && Date.now() < deadlineAt) {
  await new Promise((resolve) => setTimeout(resolve, 5));
  record = await local.client.status(id);
}
await local.stop();
console.log(\`\${record?.status}: \${record?.output}\`);
export { wrong };
`;

/** What users' files may export, without a type of their own beside it. */
const exporting = {
  'backend.ts': `
import { sqlite, sqliteStore } from 'longshore/local/sqlite';
export const backend = () => sqlite('.longshore/jobs.db');
export const store = () => sqliteStore('.longshore/jobs.db');`,
  'jobs.ts': jobs.replaceAll(/^const (greet|app) /gm, 'export const $1 '),
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
