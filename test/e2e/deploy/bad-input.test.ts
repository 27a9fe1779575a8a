/** Apps that cannot be packaged: one clear line, and nothing is written. */

import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli, imports, project, root } from '../cli/kit.ts';

const job = (more: string) => `defineJob({ name: 'a', payload: z.null(), handle() {}, ${more} })`;
const config = (jobs: string, more = '', deployment = '') =>
  `${imports}export const app = createApp({ jobs: [${jobs}], ${more} });\nexport const backend = () => memory();\n${deployment}`;
const functions = 'export const worker = async () => {};\nexport const schedule = async () => {};\n';

async function refused(
  files: Readonly<Record<string, string>>,
  line = 'package aws',
  prepare = (_: string) => {},
) {
  const folder = project({ 'functions.ts': functions, 'main.ts': functions, ...files });
  prepare(folder);
  const { code, stdout, stderr } = await cli(folder, line.split(' '));
  expect([code === 0, stdout]).toEqual([false, '']);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  for (const path of ['dist', 'serverless.yml', 'serverless', 'host.json', 'azure.template.json'])
    expect(existsSync(join(folder, path)), path).toBe(false);
  return stderr;
}

describe('longshore package refuses', () => {
  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    [
      'a job that is longer than a function',
      { 'longshore.config.ts': config(job('timeoutMs: 1_200_000')) },
      /Job "a" may run for 1200 s.*900 s/,
    ],
    [
      'a queue that SQS cannot name',
      { 'longshore.config.ts': config(job("queue: 'a.b'")) },
      /SQS has no queue of the name "a\.b"/,
    ],
    [
      'two queues of one name',
      { 'longshore.config.ts': config(job(''), "queues: { mail: {}, 'mail-dlq': {} }") },
      /Two queues would be called "mail-dlq"/,
    ],
    [
      'two queues that a template cannot tell apart',
      { 'longshore.config.ts': config(job(''), "queues: { 'a-b': {}, a_b: {} }") },
      /Two queues would be called "a-b" and "a_b"/,
    ],
    [
      'an ordered queue that is not FIFO',
      { 'longshore.config.ts': config(job(''), "queues: { ledger: { order: 'group' } }") },
      /Name it "ledger\.fifo"/,
    ],
    [
      'a schedule without a job',
      {
        'longshore.config.ts': config(
          '',
          "schedules: [defineSchedule({ name: 's', cron: '* * * * *', job: 'b', payload: null })]",
        ),
      },
      /Schedule "s" runs job "undefined", which is not among the app's jobs/,
    ],
    [
      'schedules that nothing would call',
      {
        'longshore.config.ts': config(
          `one`,
          "schedules: [defineSchedule({ name: 's', cron: '* * * * *', job: one, payload: null })]",
        ).replace('export const app', `const one = ${job('')};\nexport const app`),
        'functions.ts': 'export const worker = 1;',
      },
      /export no `schedule`/,
    ],
    [
      'functions without a worker',
      { 'longshore.config.ts': config(job('')), 'functions.ts': 'export const other = 1;' },
      /to export worker, got other/,
    ],
    [
      'a package that is not installed',
      { 'longshore.config.ts': config(job('')), 'functions.ts': `import 'not-there';\n${functions}` },
      /Could not resolve "not-there" \(functions\.ts, line 1\)\. Run npm install not-there\./,
    ],
    [
      'a file that is not there',
      { 'longshore.config.ts': config(job('')), 'functions.ts': `import './none.ts';\n${functions}` },
      /Could not resolve "\.\/none\.ts"/,
    ],
    [
      'an unknown queue of a function',
      {
        'longshore.config.ts': config(
          job(''),
          '',
          "export const deployment = { aws: { functions: { other: { queues: ['x'] } } } };",
        ),
      },
      /takes queue "x", which the app does not have/,
    ],
    [
      'an isolated job',
      {
        'longshore.config.ts': config(
          "defineJob({ name: 'a', payload: z.null(), isolate: 'thread', module: import.meta.url, handle() {} })",
        ),
      },
      /Job "a" is isolated, and a bundle of functions has no file/,
    ],
    [
      'a backend without queues',
      {
        'longshore.config.ts': config(
          job(''),
          '',
          "export const deployment = { aws: { backendName: 'x' } };",
        ),
      },
      /No queue of the app belongs to backend "x"/,
    ],
    [
      'an option that there is not',
      { 'longshore.config.ts': config(job(''), '', 'export const deployment = { aws: { lane: {} } };') },
      /Unknown option "lane" of aws of the deployment.*Did you mean "lanes"\?/,
    ],
    [
      'a kind of setting that there is not',
      {
        'longshore.config.ts': config(
          job(''),
          '',
          "export const deployment = { aws: { environment: { A: 'secrets' } } };",
        ),
      },
      /Expected A in the environment of aws to be one of secret, .*got "secrets"/,
    ],
  ])('%s', async (_, files, text) => {
    expect(await refused(files)).toMatch(text);
  });

  it.each(['package aws', 'package azure'])(
    'native code that a bundle cannot hold, in %s, and says where it goes',
    async (line) => {
      const files = {
        'longshore.config.ts': config(job('')),
        'functions.ts': `import 'native';\n${functions}`,
        'main.ts': "import 'native';",
      };
      const text = await refused(files, line, (folder) => {
        const at = join(folder, 'node_modules/native');
        mkdirSync(at, { recursive: true });
        writeFileSync(join(at, 'package.json'), '{ "name": "native", "main": "index.js" }');
        writeFileSync(join(at, 'index.js'), "require('./build.node');");
        writeFileSync(join(at, 'build.node'), '');
      });
      expect(text).toMatch(
        /The package "native" has native code.*installed: \['native'\].*layer or a container image/,
      );
    },
  );

  it('native code that a package finds at run time', async () => {
    const files = {
      'longshore.config.ts': config(job('')),
      'functions.ts': `import sharp from 'sharp';\nexport const x = sharp;\n${functions}`,
    };
    const text = await refused(files, 'package aws', (folder) => {
      mkdirSync(join(folder, 'node_modules'));
      symlinkSync(join(root, 'node_modules/sharp'), join(folder, 'node_modules/sharp'));
    });
    expect(text).toMatch(/The package "sharp" has native code/);
  });

  it('an SDK of a cloud that is not installed', async () => {
    const none = ['@aws-sdk', 'client-none'].join('/'); // not for the reader of imports
    const files = {
      'longshore.config.ts': config(job('')),
      'functions.ts': `${functions}export const load = () => import(${JSON.stringify(none)}).catch(() => {});`,
    };
    expect(await refused(files)).toMatch(
      /need @aws-sdk\/client-none, which is not installed\. Run npm install @aws-sdk\/client-none/,
    );
  });
});

it('longshore package takes an app with top-level await, because its bundle is an ES module', async () => {
  const folder = project({
    'longshore.config.ts': config(job('')),
    'functions.ts': `const later = await Promise.resolve(1);\n${functions}export { later };`,
  });
  expect(await cli(folder, ['package', 'aws'])).toMatchObject({ code: 0, stderr: '' });
});

it('longshore package leaves out the queues of other backends', async () => {
  const jobs = `${job('')}, defineJob({ name: 'b', queue: 'fast', backend: 'fast', payload: z.null(), handle() {} })`;
  const backends = 'export const backend = { default: () => memory(), fast: () => memory() };';
  const folder = project({
    'longshore.config.ts': config(jobs).replace('export const backend = () => memory();', backends),
    'functions.ts': functions,
  });
  const { code, stdout, stderr } = await cli(folder, ['package', 'aws', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout).queues).toEqual(['default']);
});
