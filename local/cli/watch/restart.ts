/**
 * Runs a program, and runs it again when a file that it imports has changed. It compares what is on the disk, several times a
 * second: a file that is replaced instead of written, a new one, and a folder of another machine are then seen like any other.
 * `node --watch` follows the old file when an editor saves by renaming.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { stampOf } from './stamp.ts';

const lookMs = 200;
/** Looking takes at most about this share of the time, however many files there are. */
const share = 0.1;
/** For a program that does not end when it is asked, because its code never waits: the save that mends it must count. */
const killAfterMs = 20_000;

/** Resolves with the exit code after a signal to this process has ended it. `argv`: its file and what stands after it. */
export async function runWatched(argv: readonly string[]): Promise<number> {
  const ending = new AbortController();
  let child: ChildProcess | null = null;
  const onSignal = (signal: NodeJS.Signals) => {
    ending.abort();
    child?.kill(signal === 'SIGINT' ? signal : 'SIGTERM'); // a worker takes a Ctrl-C that comes twice for one
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  for (;;) {
    const stamps = new Map<string, string>();
    child = start(argv, stamps);
    let isWanted = true;
    const ended = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>;
    void ended.then(([code, signal]) => {
      if (!isWanted || ending.signal.aborted) return;
      process.stderr.write(
        `It has ended with ${signal ?? `exit code ${code}`}. Save a file to run it again.\n`,
      );
    });
    await changed(stamps, ending.signal);
    isWanted = false;
    if (!ending.signal.aborted) child.kill('SIGTERM');
    const kill = setTimeout(() => child?.kill('SIGKILL'), killAfterMs);
    const [code] = await ended;
    clearTimeout(kill);
    if (ending.signal.aborted) return code ?? 0;
  }
}

function start(argv: readonly string[], stamps: Map<string, string>): ChildProcess {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const hooks = new URL(`./report-imports.${extension}`, import.meta.url).href;
  const options = ['--disable-warning=ExperimentalWarning', '--import', hooks];
  const child = spawn(process.execPath, [...process.execArgv, ...options, ...argv], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, LONGSHORE_WATCHER: String(process.pid) },
  });
  child.on('message', (message: { imported?: unknown; stamp?: unknown } | null) => {
    const { imported, stamp } = message ?? {};
    if (typeof imported !== 'string' || typeof stamp !== 'string' || stamps.has(imported)) return;
    stamps.set(imported, stamp);
  });
  return child;
}

/** Resolves when something has changed and has then stayed as it is for one look, or when `signal` aborts. */
async function changed(stamps: ReadonlyMap<string, string>, signal: AbortSignal): Promise<void> {
  let last: string | null = null;
  while (!signal.aborted) {
    const startedAt = performance.now();
    const now = [...stamps.keys()].map(stampOf);
    const isOther = [...stamps.values()].some((stamp, i) => stamp !== now[i]);
    const text = isOther ? now.join('\n') : null;
    if (text !== null && text === last) return;
    last = text;
    const tookMs = performance.now() - startedAt;
    await sleep(Math.max(lookMs, tookMs / share), undefined, { signal }).catch(() => {});
  }
}
