/** A child process with everything it starts: run to its end, or ended as a whole. POSIX only. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepEnds } from './text.ts';

export interface Command {
  /** The executable; `argv0` is the name by which it is called. */
  readonly file: string;
  readonly argv0: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  /** Kept of each output, the two ends of it. */
  readonly maxOutputBytes: number;
  readonly killAfterMs: number;
}

export interface CommandEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

const pollMs = 10;
/** How long processes may take to disappear after SIGKILL, and their pipes to end. */
const settleMs = 250;

/** The groups of this process that still run. */
const groups = new Set<number>();

/** The last moment at which a worker that exits can keep its commands from outliving it. */
function killAll(): void {
  for (const group of groups) send(group, 'SIGKILL');
}

/**
 * Resolves when the command and all of its group have ended. Once `signal` aborts the whole group is ended, whether
 * or not anybody still waits, and this rejects with the signal's reason. Rejects with `spawn`'s error when the
 * command could not be started.
 */
export async function runCommand(command: Command, signal: AbortSignal): Promise<CommandEnd> {
  signal.throwIfAborted();
  const startedAt = performance.now();
  const child = spawn(command.file, command.args, {
    argv0: command.argv0,
    cwd: command.cwd,
    env: command.env,
    shell: false,
    detached: true, // a session and a process group of its own, to be signalled as one
    stdio: [command.stdin === null ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const { pid } = child;
  if (pid === undefined) throw (await once(child, 'error'))[0]; // it could not be started
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const exited = new Promise<Pick<CommandEnd, 'code' | 'signal'>>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, by) => resolve({ code, signal: by }));
  });
  const stdout = keepEnds(command.maxOutputBytes);
  const stderr = keepEnds(command.maxOutputBytes);
  // Always read to the end: a full pipe would stop the command for ever.
  child.stdout?.on('data', stdout.add);
  child.stderr?.on('data', stderr.add);
  child.stdin?.on('error', () => {}); // the command need not read what it is given
  child.stdin?.end(command.stdin);

  if (groups.size === 0) process.on('exit', killAll);
  groups.add(pid);
  let ending: Promise<void> | null = null;
  const end = () => {
    ending ??= endGroup(pid, command.killAfterMs);
    return ending;
  };
  signal.addEventListener('abort', end, { once: true });
  try {
    const how = await exited;
    // From here on the command has had its say; only what it left behind is still to be ended.
    const wasInterrupted = signal.aborted;
    const durationMs = Math.round(performance.now() - startedAt);
    await end();
    await outputsEnd(child, closed);
    if (wasInterrupted) throw signal.reason;
    return { ...how, stdout: stdout.text(), stderr: stderr.text(), durationMs };
  } finally {
    signal.removeEventListener('abort', end);
    groups.delete(pid);
    if (groups.size === 0) process.off('exit', killAll);
  }
}

/** SIGTERM, then SIGKILL for whatever is left after `killAfterMs`. Never rejects. */
async function endGroup(group: number, killAfterMs: number): Promise<void> {
  if (!send(group, 'SIGTERM')) return;
  await isGone(group, killAfterMs);
  // Also when nothing seemed to run any more: a child that was born meanwhile may have been overlooked.
  if (send(group, 'SIGKILL')) await isGone(group, settleMs);
}

async function isGone(group: number, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline && (await runs(group))) await sleep(pollMs);
}

/**
 * Whether a process of the group still runs. Zombies do not count: in a container whose first process reaps no children they stay
 * forever. Only Linux shows them.
 */
async function runs(group: number): Promise<boolean> {
  if (!send(group, 0)) return false;
  if (process.platform !== 'linux') return true;
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name));
  if (pids.length === 0) return true;
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    // Id, name in brackets (it may hold brackets itself), state, parent, group.
    const [, state, itsGroup] = /^\d+ \(.*\) (\w) -?\d+ (\d+) /s.exec(stat) ?? [];
    if (Number(itsGroup) === group && state !== 'Z' && state !== 'X') return true;
  }
  return false;
}

/** `false` when the group has no process any more. Its number is not given to others while it has one. */
function send(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** A process that left the group on purpose may still hold the pipes; the job does not wait for it. */
async function outputsEnd(child: ChildProcess, closed: Promise<void>): Promise<void> {
  await Promise.race([closed, sleep(settleMs)]);
  child.stdout?.destroy();
  child.stderr?.destroy();
}
