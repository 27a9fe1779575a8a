/** The edge to the process: streams, signals, warnings and the exit. */

import { systemClock } from '../../core/base/clock.ts';
import type { Io } from './io.ts';
import { run } from './run.ts';
import { isWatched } from './watch/report-imports.ts';

/** `entry`: the file that was started, which `dev` runs as its children. */
export async function runProcess(entry: string): Promise<void> {
  quietWarnings();
  const gone = new AbortController();
  for (const stream of [process.stdout, process.stderr]) {
    // `longshore jobs list | head`: the reader has seen enough, which is no failure of ours.
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
    // As it is now: a window may be made smaller while a picture is drawn in it.
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
    supervisor: isWatched ? process : null,
  } satisfies Io);
  ended = true;
  // The config may have opened connections that keep the process alive; what was written must still get out.
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  process.exit(code);
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || !stream.writable) resolve();
    else stream.write('', () => resolve());
  });
}

/** Node's own announcements say nothing about the user's program, and stderr belongs to the error object. */
function quietWarnings(): void {
  process.removeAllListeners('warning'); // Node's own, which prints them all
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') process.stderr.write(`${name}: ${message}\n`);
  });
}
