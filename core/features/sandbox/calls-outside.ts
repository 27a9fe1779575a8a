/** The worker's side of the calls of an isolated handler: it calls the members of its own context, which know how (`Isolated`). */

import { config, LongshoreError, shown } from '../../base/errors.ts';
import { unpackError } from '../../base/thrown.ts';
import type { App } from '../../kernel/app/app.ts';
import type { HandlerContext } from '../../kernel/app/job.ts';
import type { ContextDoors, IsolatedMember } from '../../kernel/attempt/context.ts';
import type { Isolate } from './isolate.ts';
import type { FromIsolate } from './messages.ts';

type Asked = Extract<FromIsolate, { type: 'ask' }>;
type Worked = Extract<FromIsolate, { type: 'did' | 'undone' }>;

/** Open calls of one member per attempt. Each takes the worker's memory until it is answered. */
const mostOpen = 1_000;

export function createCallsOutside(app: App, isolate: Isolate, ctx: HandlerContext) {
  const doors = app.installed.context as ContextDoors;
  const open = new Map<number, string>();
  const working = new Map<number, PromiseWithResolvers<unknown>>();
  let over: { readonly reason: unknown } | null = null;

  function work(ask: number, given: unknown): Promise<unknown> {
    if (over) return Promise.reject(over.reason); // the isolate may have the next job by now
    const reply = Promise.withResolvers<unknown>();
    working.set(ask, reply);
    isolate.send({ type: 'work', ask, given });
    return reply.promise;
  }

  async function call({ ask, member, args }: Asked): Promise<unknown> {
    const { most = mostOpen, receive } = await sideOf(doors, member);
    if (open.has(ask)) throw new LongshoreError('OPTION', 'Expected a new number for each call.');
    if ([...open.values()].filter((one) => one === member).length >= most)
      throw new LongshoreError(
        'LIMIT',
        `Expected at most ${most} open calls of ctx.${member}() in an isolated handler, got more. Await some before you begin others.`,
      );
    open.set(ask, member);
    try {
      const worker = { app, work: (given: unknown) => work(ask, given) };
      const received = receive ? receive(worker, ...(args as never[])) : args;
      return await (ctx[member as 'step'] as (...call: readonly unknown[]) => Promise<unknown>)(...received);
    } finally {
      open.delete(ask);
    }
  }

  return {
    call,
    /** `work` has ended in the isolate. */
    ended(message: Worked): void {
      const reply = working.get(message.ask);
      working.delete(message.ask);
      if (message.type === 'undone') reply?.reject(unpackError(message.error));
      else reply?.resolve(message.value);
    },
    /** Rejects what waits for the isolate: the attempt or its isolate has ended. */
    end(reason: unknown): void {
      over = { reason };
      for (const reply of working.values()) reply.reject(reason);
      working.clear();
    },
  };
}

async function sideOf(doors: ContextDoors, member: string): Promise<IsolatedMember> {
  const isolated = Object.hasOwn(doors, member) ? doors[member as keyof ContextDoors]!.isolated : null;
  if (isolated === 'plain') return {};
  if (typeof isolated === 'function') return isolated();
  throw config(`Unknown call from an isolate: ${shown(member)}.`);
}
