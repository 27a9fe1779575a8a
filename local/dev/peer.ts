/** Questions and answers between the processes of `longshore dev`, over the channel that Node opens to a child. */

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
