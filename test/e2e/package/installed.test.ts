/** Installs the tarball in an empty project and uses it there as a user would. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle } from '../../../local/package/bundle.ts';
import { mostBytes } from '../../bench/aws/start.ts';
import { env, execute, installConsumer, installTimeoutMs, jobs, manifest, run, subpaths } from './kit.ts';

let temporary = '';
let consumer = '';

const runModule = (text: string): Promise<string> =>
  run(process.execPath, ['--input-type=module', '--eval', text], consumer);

beforeAll(async () => {
  ({ temporary, consumer } = await installConsumer());
}, installTimeoutMs);
afterAll(() => rmSync(temporary, { recursive: true, force: true }), 60_000); // thousands of files

describe('an installed package', () => {
  it.each(subpaths)('lets %s be imported', async (subpath) => {
    const names = await runModule(`console.log(Object.keys(await import('${subpath}')).join())`);
    expect(names.trim()).not.toBe('');
  });

  it('leads in a stack trace to a named function and a short line', async () => {
    const stack = await runModule(`
      import { createApp } from 'longshore';
      try { createApp({ jobs: [], job: 1 }); } catch (error) { console.log(error.stack); }`);
    const [, file, line] = /at checkOptions \(file:\/\/(.*\.js):(\d+):\d+\)/.exec(stack)!;
    const text = readFileSync(file!, 'utf8').split('\n')[Number(line) - 1]!;
    expect(text.length).toBeLessThan(500);
    expect(stack).toContain('at createApp (');
  });

  it('lets CommonJS require every entry', async () => {
    const names = subpaths.map((subpath) => `require('${subpath}')`).join(', ');
    const code = `console.log([${names}].map((entry) => Object.keys(entry).length).join())`;
    const counts = (await run(process.execPath, ['--input-type=commonjs', '--eval', code], consumer)).split(
      ',',
    );
    expect(counts.map(Number).filter((count) => count > 0)).toHaveLength(subpaths.length);
  });

  it.each(['thread', 'process'])('runs a handler in a %s of its own', async (isolate) => {
    writeFileSync(join(consumer, 'isolated.ts'), isolated);
    writeFileSync(join(consumer, `${isolate}.ts`), isolatedRun(isolate));
    expect((await run(process.execPath, [`${isolate}.ts`], consumer)).trim()).toBe(isolate);
  });

  it('prints its version and its help', async () => {
    const command = (...args: string[]) =>
      run(process.execPath, ['node_modules/longshore/local/cli/main.js', ...args], consumer);
    expect(await command('--version')).toBe(`${manifest.version}\n`);
    expect(await command('-V', '--json')).toBe(`${manifest.version}\n`);
    expect(await command('--help')).toMatch(/^Usage: longshore .*simulate/s);
  });

  it('starts a worker in development, in a process that reports what it imports', async () => {
    writeFileSync(join(consumer, 'isolated.ts'), isolated);
    writeFileSync(
      join(consumer, 'dev.config.ts'),
      `import { sqlite } from 'longshore/local/sqlite';
      export { app } from './isolated.ts';
      export const backend = () => sqlite('dev.db');`,
    );
    const options = ['dev', '--no-dashboard', '--config', 'dev.config.ts'];
    const child = spawn(process.execPath, ['node_modules/longshore/local/cli/main.js', ...options], {
      cwd: consumer,
      env,
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
    await expect.poll(() => printed).toMatch(/worker +on sqlite/);
    child.kill('SIGTERM');
    expect(await once(child, 'exit'), printed).toEqual([0, null]);
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

  it.each([
    ['@redis/client', 'redis', 'redis://127.0.0.1:1'],
    ['pg', 'postgres', 'postgres://127.0.0.1:1/x'],
  ])('says how to install %s where it is missing', async (driver, name, url) => {
    const printed = await runModule(`
      import { registerHooks } from 'node:module';
      registerHooks({ resolve: (name, context, next) => next(name === '${driver}' ? 'no-such-package' : name, context) });
      const { ${name} } = await import('longshore/local/${name}');
      const backend = ${name}('${url}');
      const take = { queues: ['default'], max: 1, leaseMs: 1000, waitMs: 0 };
      await backend.fetch(take).catch(({ code, message }) => console.log(code, message));
      await backend.close();`);
    expect(printed).toBe(`CONFIG The package ${driver} is not installed. Run npm install ${driver}.\n`);
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
    const { start } = await bundle(entry, join(consumer, 'function'), { node: 24 });
    expect(start.inputs.filter((path) => /bundle-(run|worker)\.js$|croner|@aws-sdk/.test(path))).toEqual([]);
    expect(start.inputs.some((path) => path.endsWith('longshore/core/bundle.js'))).toBe(true);
    expect(start.bytes).toBeLessThanOrEqual(mostBytes);
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

/** A job for each kind of isolate. It returns where it has run. */
const isolated = `
import { isMainThread } from 'node:worker_threads';
import { createApp, defineJob } from 'longshore';
const payload = { '~standard': { version: 1, vendor: 'consumer', validate: () => ({ value: null }) } } as const;
const handle = () => (!isMainThread ? 'thread' : process.send ? 'process' : 'here');
const parts = { payload, module: import.meta.url, handle };
export const thread = defineJob({ name: 'thread', isolate: 'thread', ...parts });
export const child = defineJob({ name: 'process', isolate: 'process', ...parts });
export const app = createApp({ jobs: [thread, child] });
`;

const isolatedRun = (isolate: string): string => `
import { startLocal } from 'longshore/local';
import { sqlite } from 'longshore/local/sqlite';
import { app } from './isolated.ts';
const local = await startLocal(app, { backend: sqlite('${isolate}.db'), logger: false });
const { id } = await local.client.enqueue(app.jobs.get('${isolate}'), null);
console.log(await local.client.result(app.jobs.get('${isolate}'), id, { timeoutMs: 60_000 }));
await local.stop();
`;
