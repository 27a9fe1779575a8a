/** From nothing to a job that has run: `npm create longshore`, and what it makes. */

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { complaintAbout } from '../../infra/create/package-name.ts';
import { shared } from '../kit/shared/shared.ts';
import { type Machine, root, startMachine } from './create-kit.ts';

let machine: Machine;
let app = '';
let created = { code: -1, stdout: '', stderr: '' };

beforeAll(async () => {
  machine = await startMachine();
  app = join(machine.folder, 'my-app');
  created = await machine.run('npm create longshore@latest my-app -- --yes');
}, 400_000); // the packages are built first
afterAll(() => machine.end(), 60_000);

const tsc = join(root, 'node_modules/typescript/bin/tsc');

describe('npm create longshore@latest my-app', () => {
  it('makes a project, enqueues a first job, and says what to type next', () => {
    expect(created).toMatchObject({ code: 0 });
    expect(created.stdout).toMatch(/Job [\w-]+ is enqueued\.\n/);
    expect(created.stdout).toMatch(/Next:\n {2}cd my-app\s+npm run dev +runs a worker.*\n/);
    expect(readdirSync(app).sort()).toEqual([
      '.gitignore',
      '.longshore',
      'enqueue.ts',
      'jobs.test.ts',
      'jobs.ts',
      'longshore.config.ts',
      'node_modules',
      'package-lock.json',
      'package.json',
      'tsconfig.json',
    ]);
  });

  it('has run the job with the next command, which prints the link of the dashboard', async () => {
    const dev = machine.start('npm run dev -- --port 0', app);
    await dev.seen(/✓ greet/);
    const [link] = await dev.seen(/http:\/\/127\.0\.0\.1:\d+\/\S+/);
    // It works once, and leaves a cookie.
    const { headers } = await fetch(link, { redirect: 'manual' });
    const cookie = headers.get('set-cookie')!.split(';')[0]!;
    expect((await fetch(new URL('/', link), { headers: { cookie } })).status).toBe(200);
    await dev.stop();
  });

  it('enqueues another one by name, and runs it in the worker', async () => {
    expect(await machine.run('npm run enqueue -- Grace', app)).toMatchObject({ code: 0 });
    const worker = machine.start('npm run worker', app);
    await worker.seen(/hello Grace/);
    await worker.stop();
  });

  it('passes its test, and tells a failure', async () => {
    expect(await machine.run('npm test', app)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/pass 1\n/),
    });
    const jobs = readFileSync(join(app, 'jobs.ts'), 'utf8');
    writeFileSync(join(app, 'jobs.ts'), jobs.replace('greeted: name', "greeted: ''"));
    expect((await machine.run('npm test', app)).code).toBe(1);
    writeFileSync(join(app, 'jobs.ts'), jobs);
  });

  it('passes its type check, with declarations for others', async () => {
    expect(await machine.run(`${process.execPath} ${tsc}`, app)).toMatchObject({ code: 0, stdout: '' });
    const emit = '--noEmit false --emitDeclarationOnly --outDir types';
    expect(await machine.run(`${process.execPath} ${tsc} ${emit}`, app)).toMatchObject({
      code: 0,
      stdout: '',
    });
    expect(readFileSync(join(app, 'types/longshore.config.d.ts'), 'utf8')).toContain('backend');
  });
});

describe('longshore init, in a package that has Longshore', () => {
  it('adds to a CommonJS package, whose own code requires the job', async () => {
    const folder = join(machine.folder, 'commonjs');
    mkdirSync(folder);
    await machine.run('npm init -y', folder);
    await machine.run('npm pkg set type=commonjs', folder);
    await machine.run('npm install longshore', folder);
    expect(await machine.run('npx longshore init --yes', folder)).toMatchObject({ code: 0, stderr: '' });
    await machine.run('npm install', folder);
    writeFileSync(
      join(folder, 'web.js'),
      `const { connect } = require('longshore');
      const { app, backend } = require('./longshore.config.mts');
      const { greet } = require('./jobs.mts');
      const client = connect(app, backend());
      client.enqueue(greet, { name: 'Grace' }).then(() => client.close());`,
    );
    expect(await machine.run('node web.js', folder)).toMatchObject({ code: 0 });
    const { stdout } = await machine.run('npx longshore work --drain --log pretty', folder);
    expect(stdout).toMatch(/hello Grace/);
    expect(await machine.run('node --test', folder)).toMatchObject({ code: 0 });
    expect(await machine.run(`${process.execPath} ${tsc}`, folder)).toMatchObject({ code: 0, stdout: '' });
  });

  it('adds to a worker in a monorepo, whose image would install and run from the root', async () => {
    const folder = join(machine.folder, 'mono');
    const worker = join(folder, 'packages/worker');
    mkdirSync(worker, { recursive: true });
    mkdirSync(join(folder, 'packages/web'));
    writeFileSync(join(folder, 'package.json'), '{"private":true,"workspaces":["packages/*"]}');
    writeFileSync(
      join(worker, 'package.json'),
      '{"name":"@acme/worker","type":"module","dependencies":{"longshore":"*"}}',
    );
    writeFileSync(
      join(folder, 'packages/web/package.json'),
      '{"name":"web","type":"module","dependencies":{"@acme/worker":"*"}}',
    );
    writeFileSync(
      join(folder, 'packages/web/web.ts'),
      `import { greet } from '@acme/worker/jobs.ts'; console.log(greet.name);`,
    );
    await machine.run('npm install', folder);
    const init = 'npx longshore init --platform docker --backend sqlite';
    expect(await machine.run(init, worker)).toMatchObject({ code: 0, stderr: '' });
    await machine.run('npm install', folder);
    expect(await machine.run('node packages/web/web.ts', folder)).toMatchObject({ stdout: 'greet\n' });
    // The steps of the Dockerfile, without a container: copy what is not ignored, install, run.
    const dockerfile = readFileSync(join(worker, 'Dockerfile'), 'utf8');
    const image = join(machine.folder, 'image');
    cpSync(folder, image, {
      recursive: true,
      filter: (path) => !/node_modules|\.longshore/.test(basename(path)),
    });
    expect(await machine.run(/^RUN (npm ci .*)$/m.exec(dockerfile)![1]!, image)).toMatchObject({ code: 0 });
    const [, workdir = ''] = /^WORKDIR \/app\/(.*)$/m.exec(dockerfile)!;
    const command: string[] = JSON.parse(/^CMD (.*)$/m.exec(dockerfile)![1]!);
    const words = command.map((word) => (word === '9464' ? '0' : word));
    const container = machine.start(words.join(' '), join(image, workdir), {
      NODE_ENV: 'production',
      LONGSHORE_SIGNING_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    });
    await container.seen(/worker started/);
    container.child.kill('SIGTERM');
    expect(await container.ended).toBe(0);
  });
});

describe('create-longshore on a terminal', () => {
  it('asks where and on what, and takes numbers and names', async () => {
    const program = join((await shared('create')).folder, 'create.js');
    const asked = machine.terminal(`${process.execPath} ${program} asked`);
    await asked.seen(/1 to 7 \(machine\): /);
    asked.type('1');
    await asked.seen(/1 to 6 \(sqlite\): /);
    asked.type('sqlite');
    await asked.seen(/Next:/);
    expect(await asked.ended).toBe(0);
  });

  it('leaves nothing behind when it is stopped while it installs', async () => {
    const program = join((await shared('create')).folder, 'create.js');
    const stopped = machine.start(`${process.execPath} ${program} stopped --yes`, machine.folder);
    await stopped.seen(/Installing with npm/);
    expect(existsSync(join(machine.folder, 'stopped/package.json'))).toBe(true);
    expect(await stopped.stop()).toBe(1);
    expect(stopped.output()).toMatch(/CONFIG: Nothing was kept\. It was stopped\.\n$/);
    expect(existsSync(join(machine.folder, 'stopped'))).toBe(false);
  });
});

describe('create-longshore refuses', () => {
  /** Without npm around it, which takes a second each time. */
  async function refused(line: string, more: NodeJS.ProcessEnv = {}, options = '') {
    const before = readdirSync(machine.folder).sort();
    const program = join((await shared('create')).folder, 'create.js');
    const words = [process.execPath, ...options.split(' '), program, ...line.split(' ')].filter(Boolean);
    const { code, stderr } = await machine.run(words.join(' '), machine.folder, more);
    expect(readdirSync(machine.folder).sort()).toEqual(before);
    return { code, stderr };
  }

  it.each([
    ['my-app --yes', /^USAGE: .*my-app is not empty: it has .*npx longshore init.*\n$/],
    ['My-App --yes', /^USAGE: A package cannot be called "My-App": the name has capital letters\. .*\n$/],
    ['new --backend postgress --yes', /^USAGE: .*got "postgress"\. Did you mean "postgres"\?\n$/],
    ['new --platform kubernets --yes', /^USAGE: .*got "kubernets"\. Did you mean "kubernetes"\?\n$/],
    ['new --platform docker', /^USAGE: Expected --platform and --backend, or --yes .*\n$/],
    [
      'new --platform kubernetes --backend sqlite',
      /^USAGE: Platform kubernetes does not work with backend sqlite\. .*\n$/,
    ],
    ['new --sqlite', /^USAGE: Unknown option '--sqlite'\. Usage: npm create longshore@latest <folder>.*\n$/],
    ['--yes', /^USAGE: Expected one folder, got 0\. Usage.*\n$/],
  ])('%s', async (line, sentence) => {
    expect(await refused(line)).toEqual({ code: 2, stderr: expect.stringMatching(sentence) });
  });

  it('to work without a network, and leaves nothing behind', async () => {
    const { code, stderr } = await refused('offline --yes', { npm_config_registry: 'http://127.0.0.1:1/' });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^CONFIG: Nothing was kept\. The registry cannot be reached \(ECONNREFUSED\)\. .*\n$/,
    );
  });

  it('an old Node', async () => {
    const old = 'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})';
    expect(await refused('old --yes', {}, `--import data:text/javascript,${old}`)).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^CONFIG: Longshore needs Node 22\.18 or newer, this is 20\.20\.2\. .*\n$/,
      ),
    });
  });

  it('the names that npm refuses, and no other', async () => {
    const { stdout } = await machine.run('which npm');
    const npms = createRequire(realpathSync(stdout.trim()))('validate-npm-package-name');
    const names = [
      'my-app',
      'a',
      '',
      '.a',
      '_a',
      '-a',
      'A',
      'a b',
      ' a',
      'a~',
      "a'",
      'a(b)',
      'a*',
      'ä',
      'a/b',
      'a%',
    ];
    for (const name of [
      ...names,
      'http',
      'fs',
      'node_modules',
      'favicon.ico',
      'a'.repeat(214),
      'a'.repeat(215),
      'a.b_c-1',
    ])
      expect([name, complaintAbout(name) === null]).toEqual([name, npms(name).validForNewPackages]);
  });
});
