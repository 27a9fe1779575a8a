/**
 * The processes of `longshore dev`: this program once more for each child, and what they ask one another over the channel that Node opens. Only
 * their supervisor starts them, and only it can be asked.
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
  /** Rejects with what the other side throws, and when the channel closes before it has answered. */
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

/** @param mine what the other side may ask, by name; each answers with what JSON can hold */
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

  // The same channel carries the files that a child imports.
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

/** How the dashboard is served, however often its process is started again. */
export interface Serve {
  /** Signs sessions. */
  readonly secret: string;
  /** Where it was before; `null` = as the command line says. */
  readonly port: number | null;
}

export interface Served {
  readonly port: number;
  readonly link: string;
}

export interface Begin {
  /** `null` for the worker. */
  readonly dashboard: Serve | null;
  /** How far time has been moved. */
  readonly aheadMs: number;
  /** The process that stands still, to be woken should the supervisor die; `null` = none does. */
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

/** A `type` and no `interface`: the names are looked up. */
export type SupervisorCalls = {
  begin(none: null): Begin;
  /** The worker runs. `isAlone`: its queue is in its memory, so that only it can serve the dashboard; it does so unless it gets `null`. */
  ready(worker: { isAlone: boolean }): Promise<Serve | null>;
  serving(dashboard: Served): void;
  /** Asked by the dashboard. */
  cause(fault: { name: string }): Promise<FaultResult>;
  /** A worker is about to be killed or frozen in an attempt. */
  caught(attempt: Caught): void;
};

export type DashboardCalls = {
  /** Another link. */
  link(none: null): string;
  skip(time: { ms: number }): void;
};

export type WorkerCalls = DashboardCalls & {
  cause(fault: { name: string }): Promise<FaultResult>;
  /** Takes no more jobs. Resolves when none runs, or after a while, with how many do. */
  hold(none: null): Promise<number>;
  free(none: null): void;
  /** What stood still goes on. */
  thawed(none: null): void;
  /** Resolves when it begins a later attempt of the same job. */
  begins(after: AttemptName): Promise<void>;
  /** Resolves when this attempt is over. `settled`: whether its end changed anything. */
  ends(attempt: AttemptName): Promise<{ settled: boolean }>;
};

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

/** It ends when its parent has ended, however that came. @param argv its file and what stands after it; @param mine what it may ask of this process */
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
