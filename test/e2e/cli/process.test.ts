/** The real program: signals, pipes, terminals, and configs as Node itself loads them. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { root, shopConfig } from './kit.ts';
import { projects } from './spawned.ts';

const entry = join(root, 'local/cli/main.ts');

interface Child {
  readonly process: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves when the output so far matches. */
  until(pattern: RegExp): Promise<void>;
  readonly ended: Promise<number | null>;
}

const env = { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, TERM: 'xterm' };

function start(command: string, args: readonly string[], cwd: string, input = ''): Child {
  const child = spawn(command, args, { cwd, env });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  if (input !== '') child.stdin.end(input);
  const watchdog = setTimeout(() => child.kill('SIGKILL'), 100_000);
  const ended = once(child, 'close').then(([code]) => {
    clearTimeout(watchdog);
    return code as number | null;
  });
  return {
    process: child,
    stdout: () => out,
    stderr: () => err,
    ended,
    async until(pattern) {
      for (const deadline = Date.now() + 90_000; Date.now() < deadline; ) {
        if (pattern.test(out + err)) return;
        await new Promise((wake) => setTimeout(wake, 10));
      }
      throw new Error(`${pattern} never came:\n${out}\n${err}`);
    },
  };
}

const longshore = (cwd: string, ...args: string[]): Child => start(process.execPath, [entry, ...args], cwd);

async function ended(child: Child) {
  const code = await child.ended;
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}

/**
 * On a terminal of its own, which `script` makes. The program takes the shell's place: Ctrl-C goes to all on the
 * terminal, and some shells would end with its code instead of the program's.
 */
function onTerminal(cwd: string, line: string, input = ''): Child {
  const command = `stty cols 100; exec ${process.execPath} ${entry} ${line}`;
  const child = start('script', ['-qec', command, '/dev/null'], cwd);
  if (input !== '') void child.until(/\[y\/N\]/).then(() => child.process.stdin?.write(input));
  return child;
}

const makeProject = projects();
const project = () => makeProject({ 'longshore.config.ts': shopConfig });

describe.concurrent('longshore', { timeout: 120_000 }, () => {
  it('enqueues from a pipe, works and shows, with nothing on stderr', async ({ expect }) => {
    const cwd = project();
    const piped = start(process.execPath, [entry, 'enqueue', 'greet', '-', '--json'], cwd, '{"name":"Ada"}');
    const { code, stdout, stderr } = await ended(piped);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await ended(longshore(cwd, 'work', '--drain', '--json'))).toMatchObject({ code: 0, stderr: '' });
    const shown = await ended(longshore(cwd, 'jobs', 'show', JSON.parse(stdout).id, '--json'));
    expect(JSON.parse(shown.stdout).job.output).toEqual({ greeted: 'Ada' });
  });

  it.for(['SIGINT', 'SIGTERM'] as const)(
    'drains at %s: what runs may end, and is counted',
    async (signal, { expect }) => {
      const cwd = project();
      const enqueued = await ended(longshore(cwd, 'enqueue', 'slow', '{"ms":600}', '--json'));
      const worker = longshore(cwd, 'work', '--log', 'pretty', '--no-schedules');
      await worker.until(/worker +on sqlite/);
      const id = JSON.parse(enqueued.stdout).id;
      for (let status = ''; status !== 'processing'; ) {
        const { stdout } = await ended(longshore(cwd, 'jobs', 'show', id, '--json'));
        status = JSON.parse(stdout).job.status;
        if (status === 'completed') break; // the machine was slow; the stop is still a drain
      }
      worker.process.kill(signal);
      const { code, stdout, stderr } = await ended(worker);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/✓ slow/);
      expect(stdout).toMatch(/stopped \(signal\), 0 jobs released\n$/);
    },
  );

  it('does not mind a reader that has seen enough', async ({ expect }) => {
    const jobs = `const inner = memory();
      await longshore.connect(app, inner).enqueueMany(greet, Array.from({ length: 3000 }, () => ({ name: 'Ada' })));
      export const backend = inner;`;
    const cwd = makeProject({ 'longshore.config.ts': shopConfig.replace(/export const backend = .*/, jobs) });
    const command = `${process.execPath} ${entry} jobs list --max 3000 --json | head -c 8; echo " $\{PIPESTATUS[0]}"`;
    const { code, stdout, stderr } = await ended(start('bash', ['-c', command], cwd));
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '{"jobs": 0\n', stderr: '' });
  });

  it('drains a worker whose log nobody reads any more', async ({ expect }) => {
    const command = `${process.execPath} ${entry} work --no-schedules | head -n 1 | wc -l; echo $\{PIPESTATUS[0]}`;
    const cwd = makeProject({
      'longshore.config.ts': `${shopConfig}
      setInterval(() => app.events.emit({ type: 'backend.recovered', backend: 'x', afterMs: 1 }), 20);`,
    });
    const { stdout, stderr } = await ended(start('bash', ['-c', command], cwd));
    expect({ stdout, stderr }).toEqual({ stdout: '1\n0\n', stderr: '' });
  });

  it('asks on a terminal, and takes no for an answer', async ({ expect }) => {
    const cwd = project();
    await ended(longshore(cwd, 'enqueue', 'mail.send', '{"to":"ada"}'));
    const no = await ended(onTerminal(cwd, 'clear mail', 'n\n'));
    expect(no.stdout).toMatch(/Remove 1 waiting job of mail for good\? \[y\/N\]/);
    expect(no.stdout).toMatch(/CONFIRM.*: Not confirmed, so nothing was changed\./);
    expect(no.code).toBe(1);
    const yes = await ended(onTerminal(cwd, 'clear mail', 'y\n'));
    expect(yes.stdout).toMatch(/1 waiting job of mail removed\./);
    expect(yes.code).toBe(0);
  });

  it('shows colours and a bar on a terminal', async ({ expect }) => {
    const cwd = project();
    for (const to of ['nobody', 'ada'])
      await ended(longshore(cwd, 'enqueue', 'mail.send', JSON.stringify({ to })));
    const drained = await ended(onTerminal(cwd, 'work --drain --no-schedules'));
    expect(drained.stdout).toMatch(/draining \[=+\] 2\/2/);
    expect(drained.stdout).toMatch(/2 runs in .*, 1 dead letter/);
    const listed = await ended(onTerminal(cwd, 'dead list'));
    expect(listed.stdout).toContain('\u001b[31mpermanent');
    expect((await ended(onTerminal(cwd, 'dead list --no-color'))).stdout).not.toContain('\u001b[');
    expect((await ended(onTerminal(cwd, 'dead retry --all', 'y\n'))).stdout).toMatch(/retried \[=+\] 1\/1/);
    const moved = await ended(onTerminal(cwd, 'move --from config --to sqlite:other.db'));
    expect(moved.stdout).toMatch(/moving \[=+\] 1\/1/);
    expect(JSON.parse((await ended(onTerminal(cwd, 'status --json'))).stdout).backend).toBe('sqlite');
  });

  it('drains at Ctrl-C on a terminal', async ({ expect }) => {
    const worker = onTerminal(project(), 'work --no-schedules');
    await worker.until(/on sqlite, queues default, mail/);
    worker.process.stdin?.write('\u0003');
    const { code, stdout } = await ended(worker);
    expect(stdout).toMatch(/draining: 0 jobs may end/);
    expect(stdout).toMatch(/stopped \(signal\)/);
    expect(code).toBe(0);
  });

  it('drains when npm, which has started it, ends without handing the signal on', async ({ expect }) => {
    const worker = `${process.execPath} ${entry} work --no-schedules --log json`;
    const cwd = makeProject({
      'longshore.config.ts': shopConfig,
      'package.json': JSON.stringify({ type: 'module', scripts: { worker } }),
    });
    const npm = start('npm', ['run', 'worker'], cwd);
    await npm.until(/"event":"worker.started"/);
    npm.process.kill('SIGTERM');
    const { stdout } = await ended(npm); // when the worker, too, has closed its output
    expect(stdout).toMatch(/"event":"worker.stopped".*"reason":"orphaned"/);
  });

  it('ends at the second signal as the first process of a container, too', async ({ expect }) => {
    const cwd = project();
    await ended(longshore(cwd, 'enqueue', 'slow', '{"ms":90000}', '--json'));
    const args = [
      '-rpf',
      process.execPath,
      entry,
      'work',
      '--no-schedules',
      '--log',
      'json',
      '--lease',
      '1s',
    ];
    const outer = start('unshare', args, cwd);
    await outer.until(/"event":"worker.started"/);
    const { pid } = outer.process;
    const inner = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'));
    process.kill(inner, 'SIGTERM');
    await outer.until(/"event":"worker.draining"/);
    await new Promise((wake) => setTimeout(wake, 400)); // a key press can come twice, so one within 250 ms is the same
    process.kill(inner, 'SIGTERM');
    expect(await ended(outer)).toMatchObject({
      code: 143,
      stdout: expect.not.stringMatching(/worker.stopped/),
    });
  });

  it('ends well though the signal comes a second time after the drain, as npm sends it', async ({
    expect,
  }) => {
    const cwd = makeProject({
      'longshore.config.ts': `${shopConfig}
      app.events.on(({ type }) => {
        if (type === 'worker.stopped') process.kill(process.pid, 'SIGINT');
      });`,
    });
    const worker = longshore(cwd, 'work', '--no-schedules');
    await worker.until(/worker.started/);
    worker.process.kill('SIGINT');
    expect(await ended(worker)).toMatchObject({ code: 0, stdout: expect.stringMatching(/worker.stopped/) });
  });

  it('restarts `dev` with the new code when a file is saved, and ends at one signal', async ({ expect }) => {
    const cwd = makeProject({
      'longshore.config.ts': `import { word } from './word.ts';\n${shopConfig}
      app.events.emit({ type: 'backend.recovered', backend: word, afterMs: 1 });
      setImmediate(() => process.stderr.write('loaded ' + word + '\\n'));`,
      'word.ts': `export const word = 'old';`,
    });
    const dev = longshore(cwd, 'dev', '--no-schedules', '--no-dashboard');
    await dev.until(/worker +on sqlite/);
    writeFileSync(join(cwd, 'word.ts'), `export const word = 'new';`);
    await dev.until(/stopped \(signal\)(.|\n)*worker +on sqlite/);
    dev.process.kill('SIGTERM');
    const { code } = await ended(dev);
    expect(code).toBe(0);
    expect(dev.stderr()).toBe('loaded old\nloaded new\n');
    expect(dev.stdout().match(/stopped \(signal\)/g)).toHaveLength(2);
  });

  it('restarts `dev` at every way to save a file, and in every package', async ({ expect }) => {
    const cwd = makeProject({
      'app/package.json': '{"type":"module"}',
      'app/longshore.config.ts': `import { word } from '../shared/word.ts';\n${shopConfig}
      setImmediate(() => process.stderr.write('loaded ' + word + '\\n'));`,
      'shared/word.ts': `export const word = 'old';`,
      'next.ts': `export const word = 'moved';`,
    });
    const shell = (command: string) => execFileSync('bash', ['-c', command], { cwd });
    const dev = longshore(join(cwd, 'app'), 'dev', '--no-schedules');
    await dev.until(/loaded old/);
    const saves = [
      [`sed -i s/old/sed/ shared/word.ts`, /loaded sed/],
      [`sed -i s/sed/again/ shared/word.ts`, /loaded again/],
      [`echo "export const word = 'atomic';" > shared/.w && mv shared/.w shared/word.ts`, /loaded atomic/],
      [`echo "export const word = 'written';" > shared/word.ts`, /loaded written/],
      [
        String.raw`printf 'const a = 1;\nexport const word = ;\n' > shared/word.ts`,
        /\.\.\/shared\/word\.ts could not be loaded: line 2, column \d+: (.|\n)*Save a file to run it again/,
      ],
      ['mv next.ts shared/word.ts', /loaded moved/],
      ['mv shared/word.ts shared/gone.ts', /Cannot find module(.|\n)*Save a file to run it again/],
      [`echo "export const word = 'back';" > shared/word.ts`, /loaded back/],
      [`echo "export { word } from './new/word.ts';" > shared/word.ts`, /Cannot find module .*new.word/],
      [`mkdir shared/new && echo "export const word = 'new';" > shared/new/word.ts`, /loaded new/],
      [
        `rm -r shared/new && mkdir shared/new && echo "export const word = 'other';" > shared/new/word.ts`,
        /loaded other/,
      ],
    ] as const;
    for (const [command, seen] of saves) {
      shell(command);
      await dev.until(seen);
    }
    dev.process.kill('SIGINT');
    expect(await dev.ended).toBe(0);
  });

  it('ends `dev` at once when what it runs has ended already', async ({ expect }) => {
    const dev = longshore(makeProject({ 'longshore.config.ts': 'export const app = 1;' }), 'dev');
    await dev.until(/Save a file to run it again/);
    dev.process.kill('SIGINT');
    expect(await dev.ended).toBe(1);
  });

  it('reads `module.exports` of a CommonJS config', async ({ expect }) => {
    const text = `
      const { createApp, defineJob } = require(${JSON.stringify(join(root, 'core/index.ts'))});
      const { memory } = require(${JSON.stringify(join(root, 'local/backends/memory/index.ts'))});
      const payload = { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } };
      const job = defineJob({ name: 'greet', payload, handle() {} });
      module.exports = { app: createApp({ jobs: [job] }), backend: memory() };`;
    const common = JSON.stringify({ type: 'commonjs' });
    for (const name of ['longshore.config.js', 'longshore.config.cjs']) {
      const cwd = makeProject({ [name]: text, 'package.json': common });
      expect(await ended(longshore(cwd, 'status', '--json'))).toMatchObject({ code: 0 });
    }
    const wrong = await ended(longshore(makeProject({ 'longshore.config.mjs': text }), 'status'));
    expect(wrong.stderr).toMatch(
      /require is not defined in ES module scope.*write import in place of require/s,
    );
  });

  it('ends though the config keeps the process alive', async ({ expect }) => {
    const cwd = makeProject({ 'longshore.config.ts': `${shopConfig}\nsetInterval(() => {}, 1000);` });
    expect(await ended(longshore(cwd, 'schedule', 'list', '--json'))).toMatchObject({ code: 0, stderr: '' });
  });

  it('says so when a config never ends loading', async ({ expect }) => {
    const cwd = makeProject({ 'longshore.config.ts': 'await new Promise(() => {});' });
    const { code, stderr } = await ended(longshore(cwd, 'status'));
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/never resolves|unsettled top-level await/i);
  });

  it.for([
    [
      'imports a package that is not there',
      `import 'no-such-package';`,
      /Cannot find package 'no-such-package'.*Run npm install no-such-package in/,
    ],
    ['forgets an ending', `import './jobs';`, /Imports of your own files need their ending/],
    ['has an enum', `export enum A { B }`, /Node runs TypeScript by erasing types: no enum/],
    ['has a wrong brace', `export const app = {;`, /longshore\.config\.ts could not be loaded: /],
    [
      'imports a type as a value',
      `import { Kind } from './kind.ts'; export const app: Kind = 1;`,
      /A type needs `import type`/,
    ],
  ] as const)('explains a config that %s', async ([, text, says], { expect }) => {
    const cwd = makeProject({ 'longshore.config.ts': text, 'kind.ts': 'export type Kind = number;' });
    const { code, stderr, stdout } = await ended(longshore(cwd, 'status', '--json'));
    expect({ code, stdout, error: JSON.parse(stderr).error.code }).toEqual({
      code: 1,
      stdout: '',
      error: 'CONFIG',
    });
    expect(JSON.parse(stderr).error.message).toMatch(says);
  });

  it.for(['ts', 'js'])('says in which .%s file a syntax error is, and where', async (ending, { expect }) => {
    const cwd = makeProject({
      'longshore.config.ts': `import './fine.js';\nimport './jobs/mail.${ending}';\n${shopConfig}`,
      'fine.js': 'export const fine = 1;',
      [`jobs/mail.${ending}`]: 'export const mail = {\n  name: 1;\n};\n',
    });
    const { code, stderr } = await ended(longshore(cwd, 'status'));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^CONFIG: jobs.mail\.[jt]s could not be loaded: line 2, column 10: .*;'\.\n$/);
  });

  it('explains a package that is not a module', async ({ expect }) => {
    const cwd = makeProject({ 'package.json': '{"type":"commonjs"}', 'longshore.config.ts': shopConfig });
    const { code, stderr } = await ended(longshore(cwd, 'status'));
    expect(code).toBe(1);
    expect(stderr).toMatch(/Set "type": "module" in package\.json \(npm pkg set type=module\)/);
  });

  it('refuses production without keys, and makes no key there', async ({ expect }) => {
    const cwd = project();
    const command = `NODE_ENV=production LONGSHORE_SIGNING_KEYS= ${process.execPath} ${entry} work --once --json`;
    const { code, stderr } = await ended(start('bash', ['-c', command], cwd));
    expect({ code, error: JSON.parse(stderr).error.code }).toEqual({ code: 1, error: 'CONFIG' });
    expect(existsSync(join(cwd, '.longshore'))).toBe(false);
  });

  it('works on the example shop', async ({ expect }) => {
    const config = join(root, 'examples/longshore.config.ts');
    const { code, stdout } = await ended(longshore(root, 'schedule', 'list', '--json', '--config', config));
    expect(code).toBe(0);
    expect(JSON.parse(stdout).schedules).toMatchObject([{ name: 'nightly-report' }]);
  });

  it('looks at the version of Node before it loads anything', async ({ expect }) => {
    const text = readFileSync(entry, 'utf8');
    expect(text).not.toMatch(/^import |^export /m);
    const old = `Object.defineProperty(process.versions, 'node', { value: '18.20.1' });
      await import(${JSON.stringify(entry)});`;
    const node = (...args: string[]) =>
      ended(
        start(process.execPath, ['--input-type=module', '--eval', old, '--', 'longshore', ...args], root),
      );
    const said = await node('status');
    expect(said.code).toBe(1);
    expect(said.stderr).toBe(
      'CONFIG: Longshore needs Node 22.18 or newer, this is 18.20.1. Install a newer Node (https://nodejs.org) and run it again.\n',
    );
    expect(JSON.parse((await node('status', '--json')).stderr).error.code).toBe('CONFIG');
  });
});
