/** Connects the command line to the process: streams, signals, warnings and the exit code. */

import { systemClock } from '../../core/base/clock.ts';
import { memberVariable } from '../fleet/calls.ts';
import type { Io } from './io.ts';
import { run } from './run.ts';
import { isWatched } from './watch/report-imports.ts';

/** @param entry the started file, which `dev` runs in child processes */
export async function runProcess(entry: string): Promise<void> {
  quietWarnings();
  const gone = new AbortController();
  for (const stream of [process.stdout, process.stderr]) {
    // `longshore jobs list | head` closes the pipe early, which is not an error.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error;
      if (stream === process.stdout) gone.abort();
    });
  }
  let ended = false;
  process.on('exit', (code) => {
    if (ended || code !== 0) return;
    process.stderr.write('INTERNAL: Nothing is left to wait for, but the command has not ended. ');
    process.stderr.write('Look for a promise in the config or the backend that never resolves.\n');
    process.exitCode = 1;
  });
  const member = process.env[memberVariable] === undefined ? null : await import('../fleet/member.ts');
  const code = await run(process.argv.slice(2), {
    cwd: process.cwd(),
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    isTTY: {
      stdin: process.stdin.isTTY === true,
      stdout: process.stdout.isTTY === true,
      stderr: process.stderr.isTTY === true,
    },
    // Read each time, because the window may be resized.
    get columns() {
      return process.stdout.columns || 80;
    },
    get rows() {
      return process.stdout.rows || 24;
    },
    clock: systemClock,
    signals: ['SIGINT', 'SIGTERM'],
    hungUp: gone.signal,
    async supervised(argv, options) {
      const { supervise } = await import('../dev/supervisor.ts');
      return supervise([entry, ...argv], options);
    },
    async fleet(argv, options) {
      const { runFleet } = await import('../fleet/parent.ts');
      return runFleet([entry, ...argv], options);
    },
    member: member === null ? null : member.joinFleet(() => gone.abort()),
    supervisor: isWatched ? process : null,
  } satisfies Io);
  ended = true;
  // The config may have opened connections that keep the process alive, so it exits explicitly, after flushing its output.
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  process.exit(code);
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || !stream.writable) resolve();
    else stream.write('', () => resolve());
  });
}

/** Hides Node's `ExperimentalWarning`s. With `--json`, stderr is for the error object. */
function quietWarnings(): void {
  process.removeAllListeners('warning'); // Node's listener prints all warnings
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') process.stderr.write(`${name}: ${message}\n`);
  });
}
