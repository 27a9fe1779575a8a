/**
 * The processes of `longshore dev`. The supervisor starts this program again for each child. A child can call only the supervisor, over
 * Node's IPC channel.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { FaultResult } from '../../core/surfaces/dashboard/api.ts';
import { messageOf } from '../cli/errors.ts';

/** One end of a channel: a `ChildProcess`, or the `process` of a child. */
export interface ChannelEnd {
  readonly connected: boolean;
  readonly channel?: { ref(): void; unref(): void } | null | undefined;
  send?(message: object, ...rest: readonly unknown[]): boolean;
  on(event: string, listener: (...values: never[]) => void): unknown;
}

type Value<Theirs, Name extends keyof Theirs> = Theirs[Name] extends (value: infer V) => unknown ? V : never;
type Result<Theirs, Name extends keyof Theirs> = Theirs[Name] extends (value: never) => infer R
  ? Awaited<R>
  : never;

export interface Peer<Theirs> {
  /** Rejects with the error of the other side, or if the channel closes before the answer. */
  ask<Name extends keyof Theirs & string>(
    name: Name,
    value: Value<Theirs, Name>,
  ): Promise<Result<Theirs, Name>>;
}

interface Question {
  readonly question: string;
  readonly id: number;
  readonly value: unknown;
}

interface Answer {
  readonly answer: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** @param mine handlers for calls of the other side, by name; they return JSON values */
export function connectPeer<Theirs>(end: ChannelEnd, mine: object): Peer<Theirs> {
  const waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  let lastId = 0;

  function send(message: Question | Answer): void {
    const failed = (error: Error | null) => {
      if (error && 'question' in message) settle({ answer: message.id, error: gone });
    };
    if (end.connected) end.send?.(message, failed);
    else failed(new Error(gone));
  }
  function settle({ answer, value, error }: Answer): void {
    const asked = waiting.get(answer);
    waiting.delete(answer);
    if (error === undefined) asked?.resolve(value as never);
    else asked?.reject(new Error(error));
  }
  async function reply({ question, id, value }: Question): Promise<void> {
    try {
      const handlers = mine as Record<string, (value: unknown) => unknown>;
      if (!Object.hasOwn(handlers, question)) throw new Error(`Nobody answers "${question}" here.`);
      send({ answer: id, value: (await handlers[question]!(value)) ?? null });
    } catch (error) {
      send({ answer: id, error: messageOf(error) });
    }
  }

  // The channel also carries the names of the files that a child imports.
  end.on('message', (message: Partial<Question & Answer> | null) => {
    if (typeof message?.question === 'string') void reply(message as Question);
    else if (typeof message?.answer === 'number') settle(message as Answer);
  });
  end.on('disconnect', () => {
    for (const id of [...waiting.keys()]) settle({ answer: id, error: gone });
  });
  return {
    ask: (name, value) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { resolve, reject });
        send({ question: name, id, value });
      }),
  };
}

const gone = 'The other process has ended.';

/** Settings of the dashboard that survive a restart of its process. */
export interface Serve {
  /** Signs sessions. */
  readonly secret: string;
  /** The port so far; `null` = use the one of the command line. */
  readonly port: number | null;
}

export interface Served {
  readonly port: number;
  readonly link: string;
}

export interface Begin {
  /** `null` for the worker. */
  readonly dashboard: Serve | null;
  /** How far the clock is ahead. */
  readonly aheadMs: number;
  /** The frozen process, which must be woken if the supervisor dies; `null` = none. */
  readonly frozenPid: number | null;
  readonly hasFaults: boolean;
}

export interface AttemptName {
  readonly id: string;
  readonly attempt: number;
}

/** An attempt that a fault has found. */
export interface Caught extends AttemptName {
  readonly fault: string;
  readonly job: string;
}

/** A `type`, because names of an `interface` could not be looked up. */
export type SupervisorCalls = {
  begin(none: null): Begin;
  /** The worker runs. `isAlone`: its queue is in memory, so only the worker can serve the dashboard; `null` = it should not. */
  ready(worker: { isAlone: boolean }): Promise<Serve | null>;
  serving(dashboard: Served): void;
  /** Called by the dashboard. */
  cause(fault: { name: string }): Promise<FaultResult>;
  /** A worker will be killed or frozen during an attempt. */
  caught(attempt: Caught): void;
};

export type DashboardCalls = {
  /** Creates another link. */
  link(none: null): string;
  skip(time: { ms: number }): void;
};

export type WorkerCalls = DashboardCalls & {
  cause(fault: { name: string }): Promise<FaultResult>;
  /** Stops taking jobs. Resolves with the number of running jobs, when it is 0 or after a while. */
  hold(none: null): Promise<number>;
  free(none: null): void;
  /** The frozen worker continues. */
  thawed(none: null): void;
  /** Resolves when the worker begins a later attempt of the same job. */
  begins(after: AttemptName): Promise<void>;
  /** Resolves when this attempt has ended. `settled`: whether the queue accepted its end. */
  ends(attempt: AttemptName): Promise<{ settled: boolean }>;
};

export interface Child<Calls> {
  readonly pid: number;
  readonly peer: Peer<Calls>;
  /** The imported files, each with its stamp when it was read. */
  readonly stamps: ReadonlyMap<string, string>;
  readonly hasEnded: () => boolean;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  signal(name: NodeJS.Signals): void;
  /** Asks the child to end, and kills it after a while: its code may block, and saving a fix must still restart it. */
  stop(): Promise<void>;
  /** The same for a child that was already asked to end. */
  end(): Promise<void>;
}

const killAfterMs = 20_000;

/** Starts a child, which ends when its parent ends. @param argv its file and arguments; @param mine handlers for calls of the child */
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
