/** Runs npm as a user would, with a registry that has the packages of this repository. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { startRegistry } from '../kit/servers/registry.ts';
import { shared } from '../kit/shared/shared.ts';

export const root = resolve(import.meta.dirname, '../..');
const execute = promisify(execFile);

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type Machine = Awaited<ReturnType<typeof startMachine>>;

/** A folder for projects, and an npm that finds both packages in its registry. */
export async function startMachine() {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-create-'));
  const config = async (name: string) => (await execute('npm', ['config', 'get', name])).stdout.trim();
  const registry = await startRegistry(
    [await shared('release'), await shared('create')],
    await config('registry'),
  );
  // npx keeps what it has once installed by name and version, and this version changes with every commit. Downloads may stay.
  const cache = join(folder, 'cache');
  mkdirSync(cache);
  symlinkSync(join(await config('cache'), '_cacache'), join(cache, '_cacache'));
  const env: NodeJS.ProcessEnv = {
    ...withoutNpm(process.env),
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    NO_COLOR: '1',
    FORCE_COLOR: undefined,
    NODE_ENV: undefined,
    NODE_OPTIONS: undefined,
    LONGSHORE_SIGNING_KEYS: undefined,
    npm_config_registry: registry.url,
    npm_config_replace_registry_host: 'never',
    npm_config_cache: cache,
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_fetch_retries: '0',
    npm_config_update_notifier: 'false',
    npm_config_yes: 'true', // npx asks before it installs create-longshore for the first time
  };

  /** Never rejects for an exit code. The timeout only ends what hangs. */
  async function run(line: string, cwd = folder, more: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const [program = '', ...args] = line.split(' ');
    const options = { cwd, env: { ...env, ...more }, timeout: 110_000, maxBuffer: 2 ** 26 };
    return execute(program, args, options).then(
      (ended) => ({ code: 0, ...ended }),
      (error) => ({ code: error.code ?? 1, stdout: error.stdout, stderr: error.stderr }),
    );
  }

  const started: Running[] = [];
  /** Starts a program that does not end by itself. */
  function start(line: string, cwd: string, more: NodeJS.ProcessEnv = {}): Running {
    return begin(line.split(' '), cwd, more);
  }

  /** The same, with a terminal to type into. */
  function terminal(line: string): Running {
    return begin(['script', '-qec', `exec ${line}`, '/dev/null'], folder, {});
  }

  function begin([program = '', ...args]: readonly string[], cwd: string, more: NodeJS.ProcessEnv): Running {
    const running = watched(spawn(program, args, { cwd, env: { ...env, ...more }, detached: true }));
    started.push(running);
    return running;
  }

  async function end(): Promise<void> {
    for (const running of started) running.signal('SIGKILL'); // what a failed test has left
    registry.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return { folder, env, run, start, terminal, end };
}

const withoutNpm = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^(npm_|VITEST)/i.test(name)));

export interface Running {
  readonly child: ChildProcess;
  output(): string;
  /** Resolves with its exit code. */
  readonly ended: Promise<number | null>;
  type(line: string): void;
  /** Resolves when the output matches. Rejects if the program ends before. */
  seen(pattern: RegExp): Promise<RegExpExecArray>;
  /** To it and to all programs that it has started, as a terminal does. */
  signal(name: NodeJS.Signals): void;
  /** Ctrl-C; resolves with its exit code. */
  stop(): Promise<number | null>;
}

function watched(child: ChildProcess): Running {
  let output = '';
  const ended = once(child, 'close').then(([code]) => code as number | null);
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      child.emit('output');
    });
  function signal(name: NodeJS.Signals): void {
    try {
      process.kill(-child.pid!, name);
    } catch {
      // all have ended
    }
  }
  return {
    child,
    output: () => output,
    ended,
    async seen(pattern) {
      for (;;) {
        const found = pattern.exec(output);
        if (found) return found;
        const more = once(child, 'output').then(() => null);
        const code = await Promise.race([more, ended]);
        if (code !== null && !pattern.test(output))
          throw new Error(`It ended with code ${code} and without ${pattern}:\n${output}`);
      }
    },
    signal,
    type: (line) => void child.stdin!.write(`${line}\n`),
    async stop() {
      signal('SIGINT');
      return ended;
    },
  };
}
