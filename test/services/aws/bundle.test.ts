/** What a function carries. A static import somewhere makes it load what it does not need, silently. */

import { execFile, execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDynamoTable } from '../../../functions/aws/index.ts';
import { type Bundle, bundle } from '../../../local/package/bundle.ts';
import { mostBytes } from '../../bench/aws/start.ts';
import { type DynamoServer, startDynamo } from '../../kit/servers/dynamo-server.ts';
import { type Endpoint, openEndpoint } from './endpoint.ts';

let folder: string;
let bundled: Bundle;
let scheduled: Bundle;
const node24 = { node: 24 };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-bundle-'));
  const entries = join(import.meta.dirname, '../../bench/aws/entries');
  bundled = await bundle(join(entries, 'longshore.ts'), folder, node24);
  scheduled = await bundle(join(entries, 'scheduled.ts'), join(folder, 'scheduled'), node24);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the bundle of a worker', () => {
  it('starts with at most 128 KB: less is no faster', () => {
    expect(scheduled.start.bytes).toBeLessThanOrEqual(mostBytes);
  });

  it('starts without what knows cron patterns, also where the app has some', () => {
    expect(scheduled.start.inputs.filter((path) => path.includes('node_modules'))).toEqual([]);
  });

  it('starts without the SDK, and without any other package', () => {
    expect(bundled.start.inputs.filter((path) => path.includes('node_modules'))).toEqual([]);
  });

  it('starts without what only some functions or some jobs need', () => {
    const rare =
      /^(core\/(kernel\/worker\/worker|surfaces|features\/(isolate|sandbox\/(inside|host|isolate))|jobs)|functions\/aws\/(lambda\/worker|sqs\/(admin|check|dead-letters|diagnose))|local)\b/;
    expect(bundled.start.inputs.filter((path) => rare.test(path))).toEqual([]);
    expect(bundled.start.inputs).toContain('functions/aws/sqs/index.ts'); // the paths are still what the pattern is about
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

  const bundleText = async (text: string) => {
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
    expect((await bundleText(text)).endsWith('main.mjs')).toBe(true),
  );

  it('learns which SDK is missing when it needs one after all', async () => {
    const endpoint = await openEndpoint();
    const url = await endpoint.createQueue(`bundle-${process.pid}`);
    const deadLetterUrl = await endpoint.createQueue(`bundle-${process.pid}-dlq`);
    const main = await bundleText(`
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

describe('a bundle of a worker, built in one command', () => {
  const root = join(import.meta.dirname, '../../..');
  const from = (path: string) => JSON.stringify(join(root, path));
  let project: string;
  let endpoint: Endpoint;
  let table: DynamoServer;
  let urls: string[];

  beforeAll(async () => {
    project = join(folder, 'own');
    await mkdir(project);
    await symlink(join(root, 'node_modules'), join(project, 'node_modules'));
    endpoint = await openEndpoint();
    urls = [];
    for (const end of ['', '-dlq']) urls.push(await endpoint.createQueue(`own-${process.pid}-mail${end}`));
    table = await startDynamo();
    await createDynamoTable({ table: 'jobs', endpoint: table.endpoint });
    const program = `
      import { createApp, defineJob, keyRing } from ${from('core/index.ts')};
      import { dynamoStore, lambda, sqs } from ${from('functions/aws/index.ts')};
      import * as z from 'zod';
      const job = defineJob({ name: 'j', queue: 'mail', payload: z.object({}), handle: () => console.log('ran') });
      const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
      const backend = sqs({ queues: { mail: ${JSON.stringify(urls[0])} }, endpoint: ${JSON.stringify(endpoint.url)} });
      const store = dynamoStore({ table: 'jobs', endpoint: ${JSON.stringify(table.endpoint)} });
      export const { worker } = lambda(app, { backend, store, log: false });`;
    await writeFile(join(project, 'functions.ts'), program);
  });
  afterAll(async () => {
    for (const url of urls) await endpoint.deleteQueue(url);
    await endpoint.stop();
    await table.close();
  });

  /** A forged message: it needs the SDK of SQS, to become a dead letter. */
  async function invoke(main: string): Promise<string> {
    const record = {
      messageId: 'm',
      receiptHandle: 'h',
      body: 'forged',
      eventSource: 'aws:sqs',
      eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:own-${process.pid}-mail`,
      attributes: {},
      messageAttributes: {},
    };
    const code = `import(${JSON.stringify(main)})
      .then(({ worker }) => worker({ Records: [${JSON.stringify(record)}] }, { getRemainingTimeInMillis: () => 20_000 }))
      .then((answer) => console.log(JSON.stringify(answer)), ({ code, message }) => console.log(code, message));`;
    const program = join(project, 'invoke.mjs'); // with -e there would be a global `require`
    await writeFile(program, code);
    return (await promisify(execFile)(process.execPath, [program], { cwd: project })).stdout.trim();
  }

  const esbuild = (...options: string[]) =>
    promisify(execFile)(join(root, 'node_modules/.bin/esbuild'), options, { cwd: project });

  it('works as docs/aws.md writes it', async () => {
    const page = await readFile(join(root, 'docs/aws.md'), 'utf8');
    const [, line] = /^npx esbuild (.*)$/m.exec(page)!;
    const [, options, banner] = /^(.*) --banner:js="(.*)"$/.exec(line!)!;
    await esbuild(...options!.split(' '), `--banner:js=${banner}`);
    expect(await invoke(join(project, 'dist/functions/main.mjs'))).toBe('{"batchItemFailures":[]}');
  });

  it.each([
    ['as one file without the banner', ['--outfile=plain/main.mjs']],
    ['in parts', ['--splitting', '--outdir=parts', '--out-extension:.js=.mjs']],
  ])('fails each invocation before a job runs, %s', async (_, options) => {
    const usual = ['functions.ts', '--bundle', '--platform=node', '--format=esm', '--log-level=error'];
    await esbuild(...usual, ...options);
    const main = options[0] === '--splitting' ? 'parts/functions.mjs' : 'plain/main.mjs';
    expect(await invoke(join(project, main))).toMatch(
      /^CONFIG The package @aws-sdk\/client-dynamodb could not be loaded: .*docs\/aws\.md/,
    );
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
    await bundle(join(folder, 'program.mjs'), out, { ...node24, installed: ['native'] });
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
