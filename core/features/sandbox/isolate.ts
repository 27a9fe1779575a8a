/** A thread or a process that runs the jobs of one module, seen from the worker. Both kinds look the same from here. */

import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { unpackError } from '../../base/thrown.ts';
import { environmentWithoutKeys } from '../../envelope/signing-keys.ts';
import type { Isolation } from '../../kernel/app/isolation.ts';
import { createInbox, withoutStack } from './inbox.ts';
import type { FromIsolate, ToIsolate } from './messages.ts';

export interface Isolate {
  readonly isolation: Isolation;
  /** The process that runs the jobs. For a thread it is our own. */
  readonly pid: number;
  send(message: ToIsolate): void;
  /** `true` keeps this program running while the isolate lives. */
  hold(yes: boolean): void;
  /** Stops it at once, even if its code is blocked. */
  kill(): void;
  /** Resolves when it is gone. */
  readonly gone: Promise<void>;
  onMessage: (message: FromIsolate) => void;
  /** Called when it ended without `kill()`. */
  onCrash: (error: Error) => void;
}

/** The file beside the table of features, with this file's extension: TypeScript in the repository, JavaScript in the package. */
const entry = new URL(`../isolate.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

export function startIsolate(isolation: Isolation): Isolate {
  return isolation.kind === 'thread' ? startThread(isolation) : startProcess(isolation);
}

/**
 * If a single allocation exceeds the limit of a thread, V8 ends the whole process, not only the thread. So the cap is checked
 * from outside every `lookMs`, and V8's own limit is `headroomMb` above it: few programs get there between two checks.
 */
const headroomMb = 1024;
const lookMs = 25;
const mib = 1024 * 1024;

function startThread(isolation: Isolation): Isolate {
  const { module, maxMemoryMb } = isolation;
  const nonce = randomUUID();
  const worker = new Worker(entry, {
    workerData: { longshore: { module, nonce } },
    env: environmentWithoutKeys(),
    ...(maxMemoryMb === null ? {} : { resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb + headroomMb } }),
  });
  let cause: Error | null = null;
  let killed = false;
  let looking = false;
  async function look(): Promise<void> {
    if (looking) return; // the last look waits for code that cannot be interrupted
    looking = true;
    const { used_heap_size: used } = await worker.getHeapStatistics().catch(() => ({ used_heap_size: 0 }));
    looking = false;
    if (used <= maxMemoryMb! * mib || killed) return;
    cause = overMemory(isolation, `used ${Math.round(used / mib)} MiB`);
    void worker.terminate();
  }
  const watch = maxMemoryMb === null ? null : setInterval(look, lookMs);
  watch?.unref();
  const gone = new Promise<void>((resolve) => {
    worker.on('exit', (code) => {
      if (watch) clearInterval(watch);
      resolve();
      if (!killed) isolate.onCrash(cause ?? ended(isolation, `exit code ${code}`));
    });
  });
  worker.on('error', (error: NodeJS.ErrnoException) => {
    cause ??=
      error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? overMemory(isolation, 'reached its limit')
        : uncaught(error);
  });
  const inbox = createInbox(nonce, (error) => {
    cause ??= error;
    void worker.terminate();
  });
  worker.on('message', (data) => {
    const message = inbox.read(data);
    if (message) isolate.onMessage(message);
  });
  const isolate: Isolate = {
    isolation,
    pid: process.pid,
    gone,
    send(message) {
      if (message.type === 'run') inbox.begin();
      worker.postMessage(message);
    },
    hold: (yes) => (yes ? worker.ref() : worker.unref()),
    kill() {
      killed = true;
      void worker.terminate();
    },
    onMessage: () => {},
    onCrash: () => {},
  };
  return isolate;
}

function startProcess(isolation: Isolation): Isolate {
  const { module, maxMemoryMb } = isolation;
  const nonce = randomUUID();
  const child = fork(entry, [module, String(process.pid), nonce], {
    env: environmentWithoutKeys(),
    execArgv: [
      ...inheritable(process.execArgv),
      ...(maxMemoryMb === null ? [] : [`--max-old-space-size=${maxMemoryMb}`]),
    ],
    serialization: 'advanced',
    // The handler prints to the worker's own output, so that even its last line before a kill is seen.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // A process group of its own: Ctrl-C reaches only the worker, and a kill also reaches processes that the handler has started.
    detached: process.platform !== 'win32',
  });
  let killed = false;
  let lastWords: Error | null = null;
  const gone = new Promise<void>((resolve) => {
    const end = (why: Error) => {
      const wasKilled = killed;
      killed = true;
      killGroup(child); // even if it ended by itself: processes that it started are killed too
      resolve();
      if (!wasKilled) isolate.onCrash(why);
    };
    child.on('exit', (code, signal) => end(lastWords ?? endOf(isolation, code, signal)));
    child.on('error', (error) => {
      if (child.pid === undefined) end(new Error(`Could not start a process for the job: ${error.message}.`));
    });
  });
  const inbox = createInbox(nonce, (error) => {
    lastWords ??= error;
    killGroup(child);
  });
  child.on('message', (data) => {
    const message = inbox.read(data);
    if (message?.type === 'crashing') lastWords = uncaught(unpackError(message.error) as Error);
    else if (message) isolate.onMessage(message);
  });
  const isolate: Isolate = {
    isolation,
    pid: child.pid ?? 0,
    gone,
    send: (message) => {
      if (message.type === 'run') inbox.begin();
      child.send(message, () => {}); // an error here means that the process is ending, which onCrash reports
    },
    hold(yes) {
      const what = yes ? 'ref' : 'unref';
      child[what]();
      child.channel?.[what]();
    },
    kill() {
      if (killed) return;
      killed = true;
      killGroup(child);
    },
    onMessage: () => {},
    onCrash: () => {},
  };
  return isolate;
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL'); // the group is empty, or the platform has no process groups
  }
}

/** Node options that must not be passed on to a child: script, debugger, watch mode. */
const notForChildren =
  /^--(eval|print|input-type|inspect|watch|test|run|check|interactive|max-old-space-size)\b/;

export function inheritable(execArgv: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < execArgv.length; i++) {
    const option = execArgv[i]!;
    const withValue = /^(-e|-p|-pe|--eval|--print|--input-type)$/.test(option);
    if (withValue) i++;
    else if (!notForChildren.test(option) && !/^-[cip]$/.test(option)) kept.push(option);
  }
  return kept;
}

const hints: Partial<Readonly<Record<NodeJS.Signals, string>>> = {
  SIGABRT: ', which is how Node ends when its heap is full',
  SIGKILL: ', which the worker did not send: the system may be out of memory',
};

function endOf(isolation: Isolation, code: number | null, signal: NodeJS.Signals | null): Error {
  if (signal === null) return ended(isolation, `exit code ${code}`);
  const how = `${signal}${hints[signal] ?? ''}`;
  const isFull = signal === 'SIGABRT' && isolation.maxMemoryMb !== null;
  return isFull ? overMemory(isolation, `was ended by ${how}`) : ended(isolation, `signal ${how}`);
}

function ended({ kind }: Isolation, how: string): Error {
  return withoutStack(`The handler's ${kind} ended with ${how} before the handler did.`);
}

function overMemory({ kind, maxMemoryMb }: Isolation, what: string): Error {
  const cap = maxMemoryMb === null ? 'what Node gives it by default' : `maxMemoryMb, ${maxMemoryMb} MiB`;
  return withoutStack(
    `The handler's ${kind} needed more memory than ${cap}: it ${what}. Load less at a time, or raise maxMemoryMb.`,
  );
}

function uncaught(thrown: unknown): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const beside = new Error(`Uncaught error outside of the handler: ${error.message}`);
  if (error.stack !== undefined) beside.stack = error.stack;
  return beside;
}
