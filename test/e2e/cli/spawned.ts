/** The CLI in a process of its own, as somebody runs it who then does something about what it prints. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { makeProject, root, secret } from './kit.ts';

export interface Around {
  readonly env?: NodeJS.ProcessEnv;
  /** When the output so far matches, `act` is called, once. */
  readonly when?: RegExp;
  readonly act?: (child: ChildProcess, stdout: string) => unknown;
  /** Whether it gets a terminal, on which one can type into its standard input. */
  readonly terminal?: boolean;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What `--json` printed. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever it prints
  readonly data: any;
}

/** Only ends what hangs. */
const longestMs = 280_000;

/** @param line its arguments, parted by spaces */
export async function runCli(cwd: string, line: string, around: Around = {}): Promise<Ended> {
  const args = [join(root, 'local/cli/main.ts'), ...line.split(' ').filter(Boolean)];
  const { SQS_ENDPOINT: _, ...outer } = process.env; // the tests of the queue itself use it, these have their own
  const own = {
    LONGSHORE_SIGNING_KEYS: `k:${secret}`,
    NODE_OPTIONS: '',
    NO_COLOR: '1',
    FORCE_COLOR: undefined,
  };
  const [command, argv] = around.terminal
    ? ['script', ['-qec', `exec ${[process.execPath, ...args].join(' ')}`, '/dev/null']]
    : [process.execPath, args];
  const child = spawn(command, argv, { cwd, env: { ...outer, ...own, ...around.env } });
  let [stdout, stderr, seen] = ['', '', false];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (seen || !around.when?.test(stdout)) return;
    seen = true;
    around.act?.(child, stdout);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const watchdog = setTimeout(() => child.kill('SIGKILL'), longestMs);
  const [code] = await once(child, 'close');
  clearTimeout(watchdog);
  return { code, stdout, stderr, data: /^\{.*\n$/.test(stdout) ? JSON.parse(stdout) : null };
}

/** Makes projects that are removed after the tests of this file. */
export function projects(): (files: Readonly<Record<string, string>>) => string {
  const folders: string[] = [];
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  return (files) => {
    const folder = makeProject(files);
    folders.push(folder);
    return folder;
  };
}
