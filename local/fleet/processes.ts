/**
 * Child processes of `longshore dev` and `longshore work --processes`. The parent starts this program again for each child. Parent and
 * child call each other over Node's IPC channel.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
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

  // The channel of `longshore dev` also carries the names of the files that a child imports.
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

export interface Child<Calls> {
  readonly pid: number;
  readonly peer: Peer<Calls>;
  readonly hasEnded: () => boolean;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  signal(name: NodeJS.Signals): void;
  /** Asks the child to end, and kills it after a while: its code may block, and saving a fix must still restart it. */
  stop(): Promise<void>;
  /** The same for a child that was already asked to end. */
  end(): Promise<void>;
}

const killAfterMs = 20_000;

interface ChildOptions {
  readonly env: Readonly<Record<string, string>>;
  /** Options of Node. */
  readonly execArgv?: readonly string[];
  /** Hears every message of the child. */
  readonly heard?: (message: unknown) => void;
}

/** Starts a child, which ends when its parent ends. @param argv its file and arguments; @param mine handlers for calls of the child */
export function startChild<Calls>(
  argv: readonly string[],
  { env, execArgv = [], heard }: ChildOptions,
  mine: (child: Child<Calls>) => object,
): Child<Calls> {
  const options = ['--disable-warning=ExperimentalWarning', ...execArgv];
  const started = spawn(process.execPath, [...process.execArgv, ...options, ...argv], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...env },
  });
  if (heard) started.on('message', heard);
  let hasEnded = false;
  const ended = once(started, 'exit').then(([code, signal]) => {
    hasEnded = true;
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  const handlers = {};
  const child: Child<Calls> = {
    pid: started.pid!,
    peer: connectPeer<Calls>(started, handlers),
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
