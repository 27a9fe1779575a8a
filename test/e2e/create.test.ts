/** From nothing to a job that has run: `npm create longshore`, and what it makes. */

import { readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
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
