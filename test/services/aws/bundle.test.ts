/** What a function carries: the sizes are promises of README.md, and a static import somewhere breaks them silently. */

import { execFile, execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bundled, bundleFunction } from '../../../infra/aws/bundle.ts';
import { openEndpoint } from './endpoint.ts';

let folder: string;
let bundled: Bundled;
let scheduled: Bundled;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-bundle-'));
  const entries = join(import.meta.dirname, '../../bench/aws/entries');
  bundled = await bundleFunction(join(entries, 'longshore.ts'), folder);
  scheduled = await bundleFunction(join(entries, 'scheduled.ts'), join(folder, 'scheduled'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the bundle of a worker', () => {
  it('starts with at most 30 KB', () => {
    expect(bundled.startBytes).toBeLessThanOrEqual(30 * 1024);
  });

  it('has loaded at most 64 KB when the first event has come, and 80 with the first job', () => {
    const worker = 'functions/aws/lambda/worker.ts';
    expect(bundled.bytesWith(worker)).toBeLessThanOrEqual(64 * 1024);
    const firstJob = [worker, 'aws/sqs/accept.ts', 'aws/dynamo/stores.ts'];
    expect(bundled.bytesWith(...firstJob)).toBeLessThanOrEqual(80 * 1024);
  });

  it('opens two files more for its first event, and none of the start a second time', () => {
    const code = `
      import { registerHooks } from 'node:module';
      const opened = [];
      registerHooks({ load: (url, context, next) => (opened.push(url), next(url, context)) });
      const { worker } = await import(${JSON.stringify(join(folder, 'main.mjs'))});
      await worker({ Records: [] }, { awsRequestId: '1', getRemainingTimeInMillis: () => 10_000 });
      const mine = opened.filter((url) => url.startsWith('file:'));
      console.log(JSON.stringify(mine.map((url) => url.replace(/.*\\/|-.*(?=[.]mjs)/g, ''))));`;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual(['main.mjs', 'start.mjs', 'worker.mjs', 'worker.mjs']);
  });

  it('starts without what knows cron patterns, also where the app has some', () => {
    expect(scheduled.startInputs.filter((path) => path.includes('node_modules'))).toEqual([]);
    expect(scheduled.startBytes).toBeLessThanOrEqual(31 * 1024);
  });

  it('starts without the SDK, and without any other package', () => {
    expect(bundled.startInputs.filter((path) => path.includes('node_modules'))).toEqual([]);
  });

  it('starts without what only some functions or some jobs need', () => {
    const rare =
      /^(core\/(flow|app\/(compose|cron|schedule)|attempt|enqueue\/(around|enqueue|offload|prepare)|envelope\/envelope|http|jobs|kit\/(long|per|parallel|records\/(?!lazy))|sandbox|scheduler\/scheduler|serverless\/(invocation|schedule)|worker)|functions\/aws\/(dynamo\/(?!index|table)|lambda\/(?!options)|sqs\/(accept|admin|batches|dead|dispatch|enqueue|receive|refunded|scheduler|sdk|send|settle))|local)\b/;
    expect(bundled.startInputs.filter((path) => rare.test(path))).toEqual([]);
    expect(bundled.startInputs).toContain('functions/aws/sqs/index.ts'); // the paths are still what the pattern is about
  });
});

describe('an app that uses some services of AWS', () => {
  const root = join(import.meta.dirname, '../../..');
  let project: string;

  beforeAll(async () => {
    project = join(folder, 'project');
    for (const room of ['core', 'functions/aws'])
      await cp(join(root, room), join(project, room), { recursive: true });
    await writeFile(join(project, 'package.json'), '{ "type": "module", "sideEffects": false }');
    await mkdir(join(project, 'node_modules/@aws-sdk'), { recursive: true });
    // And what the package itself depends on.
    for (const one of ['node_modules/@aws-sdk/client-sqs', 'node_modules/croner'])
      await symlink(join(root, one), join(project, one));
  });

  const bundle = async (text: string) => {
    await writeFile(join(project, 'entry.ts'), text);
    const outfile = join(project, 'out/main.mjs');
    const options = { bundle: true, format: 'esm', platform: 'node', logLevel: 'silent' } as const;
    const banner = {
      js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
    };
    await build({ ...options, banner, entryPoints: [join(project, 'entry.ts')], outfile });
    return outfile;
  };

  it.each([
    "export { lambda, sqs } from './functions/aws/index.ts';",
    "export * from './functions/aws/index.ts';",
  ])('is bundled without the SDKs of the others: %s', async (text) =>
    expect((await bundle(text)).endsWith('main.mjs')).toBe(true),
  );

  it('learns which SDK is missing when it needs one after all', async () => {
    const endpoint = await openEndpoint();
    const url = await endpoint.createQueue(`bundle-${process.pid}`);
    const deadLetterUrl = await endpoint.createQueue(`bundle-${process.pid}-dlq`);
    const main = await bundle(`
      import { sqs } from './functions/aws/index.ts';
      const scheduler = { roleArn: 'arn:aws:iam::123456789012:role/scheduler' };
      const backend = sqs({ endpoint: ${JSON.stringify(endpoint.url)}, queues: { mail: ${JSON.stringify(url)} }, scheduler });
      const message = { id: 'a', queue: 'mail', job: 'j', body: '{}', priority: 5, group: null, tenantId: null };
      const notBefore = Date.now() + 3_600_000;
      await backend.enqueue([{ ...message, notBefore }]).catch(({ code, message }) => console.log(code, message));
      await backend.close();`);
    const { stdout } = await promisify(execFile)(process.execPath, [main], { cwd: project });
    expect(stdout).toMatch(/^CONFIG .*Run npm install @aws-sdk\/client-scheduler/);
    for (const one of [url, deadLetterUrl]) await endpoint.deleteQueue(one);
    await endpoint.stop();
  });
});

describe('a package that the bundle cannot hold', () => {
  it('is looked for when it is used: in the folders that Lambda names for layers, and beside the bundle', async () => {
    const layer = join(folder, 'layer/node_modules');
    await mkdir(join(layer, 'native'), { recursive: true });
    const content = 'module.exports = Object.assign((n) => n + 1, { Thing: class {}, two: 2 });';
    await writeFile(join(layer, 'native/index.js'), content);
    const program = "import native from 'native'; export const use = () => [native(1), native.two];";
    await writeFile(join(folder, 'program.mjs'), program);
    const out = join(folder, 'program');
    await bundleFunction(join(folder, 'program.mjs'), out, ['native']);
    const run = (env: NodeJS.ProcessEnv, then: string) => {
      const code = `import(${JSON.stringify(join(out, 'main.mjs'))}).then(({ use }) => ${then})`;
      return execFileSync(process.execPath, ['-e', code], { env, encoding: 'utf8' }).trim();
    };
    expect(run({}, 'console.log(typeof use)')).toBe('function');
    expect(run({ NODE_PATH: layer }, 'console.log(use().join())')).toBe('2,2');
    await cp(layer, join(out, 'node_modules'), { recursive: true });
    expect(run({}, 'console.log(use().join())')).toBe('2,2');
  });
});
