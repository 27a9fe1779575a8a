/** Runs the package manager that has started this program. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { CliError } from '../../local/cli/errors.ts';
import type { Project } from '../../local/init/project.ts';

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

interface RunOptions {
  readonly folder: string;
  /** Shows the output while the program runs. */
  readonly isShown?: boolean;
  readonly signal?: AbortSignal;
}

export async function runProgram(
  program: string,
  args: readonly string[],
  { folder, isShown = false, signal }: RunOptions,
): Promise<Ended> {
  const { NODE_ENV: _, ...env } = process.env; // in production it would leave out devDependencies
  const child = spawn(program, args, {
    cwd: folder,
    env,
    stdio: isShown ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
    ...(signal && { signal }),
  });
  const outputs = [child.stdout, child.stderr].map((stream) => (stream ? text(stream) : ''));
  const [[code], ...parts] = await Promise.all([once(child, 'close'), ...outputs]);
  return { code, output: parts.join('') };
}

/** Throws `CONFIG` with one sentence if the packages could not be installed. */
export async function install({ folder, manager }: Project, signal: AbortSignal): Promise<void> {
  const { name } = manager;
  // The file of the manager itself, because npm.cmd on Windows would need a shell.
  const own = process.env.npm_execpath;
  const [program, args] =
    own?.includes(name) && /\.[cm]?js$/.test(own)
      ? [process.execPath, [own, 'install']]
      : [name, ['install']];
  const { code, output } = await runProgram(program, args, { folder, signal }).catch((error: Error) => {
    const reason = signal.aborted ? 'It was stopped' : `${name} could not be started: ${error.message}`;
    throw failed(`${reason}.`);
  });
  if (code === 0) return;
  const cause = unreachable.exec(output)?.[0];
  if (cause !== undefined)
    throw failed(`The registry cannot be reached (${cause}). Check the network and the proxy of ${name}.`);
  const lines = output.split('\n').filter((line) => /err/i.test(line));
  throw failed(`${name} install ended with exit code ${code}: ${lines.slice(0, 3).join(' ').slice(0, 500)}`);
}

const unreachable =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED/;

const failed = (message: string): CliError => new CliError('CONFIG', 1, `Nothing was kept. ${message}`);
