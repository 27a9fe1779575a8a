/** `longshore init` in packages of all kinds: what it writes, what it leaves alone, and what it refuses. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { versions } from '../../../local/init/manifest.ts';
import { writeFiles } from '../../../local/init/write.ts';
import { cli, json, project, root } from './kit.ts';

const read = (folder: string, path: string): string => readFileSync(join(folder, path), 'utf8');
const manifestOf = (folder: string) => JSON.parse(read(folder, 'package.json'));
/** What `npm init -y` writes. */
const commonJs = `{
\t"name": "shop",
\t"version": "1.0.0",
\t"type": "commonjs",
\t"scripts": {
\t\t"test": "echo \\"Error: no test specified\\" && exit 1"
\t},
\t"license": "ISC"
}
`;

describe('longshore init', () => {
  it('leaves every file and script that exists as it is, and says so', async () => {
    const own = { 'package.json': commonJs, 'jobs.mts': 'mine', '.gitignore': '', 'tsconfig.json': '{}' };
    const folder = project(own);
    const { code, stdout } = await cli(folder, ['init', '--yes']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /Kept as they are:\n {2}jobs\.mts\n {2}tsconfig\.json\n {2}\.gitignore\n {2}script test; ours would be: node --test\n/,
    );
    expect(stdout).toMatch(/Add "rewriteRelativeImportExtensions": true to tsconfig\.json\./);
    for (const path of ['jobs.mts', '.gitignore', 'tsconfig.json'] as const)
      expect(read(folder, path)).toBe(own[path]);
    const manifest = manifestOf(folder);
    expect(manifest).toMatchObject(JSON.parse(commonJs));
    expect(manifest.scripts.dev).toBe('longshore dev');
    expect(read(folder, 'package.json')).toMatch(/^\{\n\t"name"/);
  });

  it('says what an app that exists has to declare for the written units', async () => {
    const folder = project({ 'package.json': commonJs, 'longshore.config.mts': 'mine' });
    const { data } = await json(folder, ['init', '--platform', 'systemd', '--backend', 'sqlite']);
    expect(data!.notes).toEqual([
      expect.stringContaining('declare it, `createApp({ queues: { urgent: {} } })`'),
    ]);
  });

  it('changes nothing the second time', async () => {
    const folder = project({ 'package.json': commonJs });
    await cli(folder, ['init', '--yes']);
    const all = () => readdirSync(folder).map((path) => [path, read(folder, path)]);
    const before = all();
    const { data } = await json(folder, ['init', '--yes']);
    expect(data).toMatchObject({ written: [], addedPackages: [], keptScripts: ['test'] });
    expect(all()).toEqual(before);
  });

  it('writes .mts where Node takes .ts for CommonJS, and .ts elsewhere', async () => {
    for (const [type, ending] of [
      ['commonjs', 'mts'],
      ['module', 'ts'],
      [undefined, 'mts'],
    ] as const) {
      const folder = project({ 'package.json': JSON.stringify({ name: 'shop', type }) });
      await cli(folder, ['init', '--yes']);
      expect(readdirSync(folder)).toContain(`longshore.config.${ending}`);
      expect(read(folder, `enqueue.${ending}`)).toContain(`from './longshore.config.${ending}'`);
    }
  });

  it('takes the test runner, tsx and the package manager of the project', async () => {
    const devDependencies = { vitest: '5', tsx: '4' };
    const folder = project({
      'package.json': JSON.stringify({ type: 'module', devDependencies }),
      'pnpm-lock.yaml': '',
    });
    const { stdout } = await cli(folder, ['init', '--yes']);
    expect(stdout).toMatch(/Next:\n {2}pnpm install .*\n {2}pnpm dev .*\n {2}pnpm enqueue /);
    expect(read(folder, 'jobs.test.ts')).toContain("from 'vitest'");
    expect(manifestOf(folder).scripts).toEqual({
      dev: 'node --import tsx node_modules/longshore/local/cli/main.js dev',
      worker: 'node --import tsx node_modules/longshore/local/cli/main.js work',
      enqueue: 'node --import tsx enqueue.ts',
      test: 'vitest run',
    });
  });

  it('finds the lock file and the packages of the workspace in its root', async () => {
    const main = 'node_modules/longshore/local/cli/main.js';
    const folder = project({
      'package.json': '{"workspaces":["packages/*"]}',
      'yarn.lock': '',
      [main]: '',
      'packages/worker/package.json': '{"type":"module","dependencies":{"tsx":"4"}}',
    });
    const { stdout } = await cli(join(folder, 'packages/worker'), ['init', '--yes']);
    expect(stdout).toMatch(/Next:\n {2}yarn install /);
    expect(manifestOf(join(folder, 'packages/worker')).scripts.dev).toBe(
      `node --import tsx ../../${main} dev`,
    );
  });

  it('asks two questions on a terminal, and again after a wrong answer', async () => {
    const folder = project({ 'package.json': '{}' });
    const terminal = new PassThrough();
    const running = cli(folder, ['init'], { isTTY: true, terminal });
    for (const answer of ['', 'postgress', 'postgres']) {
      await new Promise((wake) => setTimeout(wake, 50)); // a person reads the question first
      terminal.write(`${answer}\n`);
    }
    const { code, stderr } = await running;
    expect(code).toBe(0);
    expect(stderr).toMatch(/Where do the workers run\?\n {2}1 {2}machine/);
    expect(stderr).toMatch(/There is no answer "postgress"\. Did you mean "postgres"\?/);
    expect(manifestOf(folder).dependencies).toHaveProperty('pg');
  });

  it('writes nothing when the terminal ends before the answer', async () => {
    const folder = project({ 'package.json': '{}' });
    const terminal = new PassThrough();
    terminal.end();
    const { code, stderr } = await cli(folder, ['init'], { isTTY: true, terminal });
    expect([code, readdirSync(folder)]).toEqual([1, ['package.json']]);
    expect(stderr).toMatch(/CONFIRM.*: Nothing was written\.\n$/);
  });

  it.each([
    [{ 'package.json': '{' }, ['--yes'], /^CONFIG: package\.json in .* is no JSON: .* Correct it first\.\n$/],
    [{ 'package.json': '[]' }, ['--yes'], /^CONFIG: Expected package\.json in .* to be an object\./],
    [{}, [], /^USAGE: Expected --platform and --backend, or --yes/],
    [
      {},
      ['--backend', 'reddis', '--yes'],
      /^USAGE: Expected --backend to be one of .*, got "reddis"\. Did you mean "redis"\?\n$/,
    ],
    [{}, ['--platform', 'heroku', '--yes'], /^USAGE: Expected --platform to be one of .*, got "heroku"\.\n$/],
  ])('refuses %j %j', async (files, flags, sentence) => {
    const folder = project(files);
    const before = readdirSync(folder);
    const { code, stderr } = await cli(folder, ['init', ...flags]);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toMatch(sentence);
    expect(readdirSync(folder)).toEqual(before);
  });

  it('refuses a folder that is no package, and names the way to a new one', async () => {
    const folder = join(project({ 'empty/.keep': '' }), 'empty');
    const { code, stderr } = await cli(folder, ['init', '--yes']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^CONFIG: There is no package\.json in .*: npm create longshore@latest my-app\n$/);
  });

  it('writes nothing when a folder is a file', async () => {
    const folder = project({ deploy: '' });
    const { code, stderr } = await cli(folder, ['init', '--platform', 'supervisord', '--backend', 'sqlite']);
    expect([code, readdirSync(folder).sort()]).toEqual([1, ['deploy', 'package.json']]);
    expect(stderr).toMatch(/^CONFIG: Nothing was written: deploy in .* is no folder\. Rename it first\.\n$/);
  });

  it('removes what it has written when a later file cannot be written', () => {
    const folder = project({ 'package.json': '{}' });
    const file = (path: string) => ({ path, text: 'new' });
    // The third needs a folder where the second is a file by then.
    const files = [file('new/a'), file('b'), file('b/c')];
    expect(() => writeFiles(folder, files, '{"new":1}')).toThrow(
      /^Nothing was written to .*: E(EXIST|NOTDIR)/,
    );
    expect(readdirSync(folder)).toEqual(['package.json']);
    expect(read(folder, 'package.json')).toBe('{}');
  });

  it('names versions that Longshore works with', () => {
    const { peerDependencies, devDependencies } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    );
    for (const [name, range] of Object.entries(versions))
      if (peerDependencies[name] !== undefined) expect([name, range]).toEqual([name, peerDependencies[name]]);
      else expect(devDependencies[name]).toMatch(new RegExp(`^${range.slice(1).split('.')[0]}\\.`));
  });
});
