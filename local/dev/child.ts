/** A child of `longshore dev`: this program once more. It ends when its parent has ended, however that came. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connectPeer, type Peer } from './peer.ts';

export interface Child<Calls> {
  readonly pid: number;
  readonly peer: Peer<Calls>;
  /** The files that it imports, each as it was when it was read. */
  readonly stamps: ReadonlyMap<string, string>;
  readonly hasEnded: () => boolean;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  signal(name: NodeJS.Signals): void;
  /** Asks it to end, and ends it after a while: its code may never wait, and the save that mends it must count. */
  stop(): Promise<void>;
  /** The same for one that has been asked. */
  end(): Promise<void>;
}

const killAfterMs = 20_000;

/** @param argv its file and what stands after it; @param mine what it may ask of this process */
export function startChild<Calls>(
  argv: readonly string[],
  mine: (child: Child<Calls>) => object,
): Child<Calls> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const hooks = new URL(`../cli/watch/report-imports.${extension}`, import.meta.url).href;
  const options = ['--disable-warning=ExperimentalWarning', '--import', hooks];
  const started = spawn(process.execPath, [...process.execArgv, ...options, ...argv], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, LONGSHORE_WATCHER: String(process.pid) },
  });
  const stamps = new Map<string, string>();
  started.on('message', (message: { imported?: unknown; stamp?: unknown } | null) => {
    const { imported, stamp } = message ?? {};
    if (typeof imported !== 'string' || typeof stamp !== 'string' || stamps.has(imported)) return;
    stamps.set(imported, stamp);
  });
  let hasEnded = false;
  const ended = once(started, 'exit').then(([code, signal]) => {
    hasEnded = true;
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  const handlers = {};
  const child: Child<Calls> = {
    pid: started.pid!,
    peer: connectPeer<Calls>(started, handlers),
    stamps,
    hasEnded: () => hasEnded,
    ended,
    signal: (name) => void started.kill(name),
    stop() {
      started.kill('SIGTERM');
      return child.end();
    },
    async end() {
      const kill = setTimeout(() => started.kill('SIGKILL'), killAfterMs);
      await ended;
      clearTimeout(kill);
    },
  };
  Object.assign(handlers, mine(child));
  return child;
}
