/** The isolate's side of the calls of a handler: they go to the worker, which may ask the isolate to do a part of a call. */

import { config, LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { packError, type Thrown, unpackError } from '../../base/thrown.ts';
import type { HandlerContext } from '../../kernel/app/job.ts';
import type { ContextDoors, SentCall } from '../../kernel/attempt/context.ts';
import type { FromIsolate } from './messages.ts';

interface OpenCall {
  readonly attempt: Ended;
  readonly answer: PromiseWithResolvers<unknown>;
  readonly work: SentCall['work'];
  /** The error that `work` threw: the handler catches this very object, not a copy. */
  thrown?: { readonly error: unknown };
}

interface Ended {
  readonly ended: boolean;
}

/** For all attempts: a call that the handler did not await is answered after the end of its attempt. */
export function createCallsInside(send: (message: FromIsolate) => void) {
  const open = new Map<number, OpenCall>();
  let asked = 0;

  async function ask(attempt: Ended, member: string, { args, work, end }: SentCall): Promise<unknown> {
    if (attempt.ended)
      throw new LongshoreError('LEASE_LOST', `ctx.${member}() was called after the attempt had ended.`);
    const number = ++asked;
    const call: OpenCall = { attempt, answer: Promise.withResolvers(), work };
    open.set(number, call);
    try {
      sendPlain({ type: 'ask', ask: number, member, args });
      return await call.answer.promise;
    } catch (error) {
      throw call.thrown ? call.thrown.error : error;
    } finally {
      open.delete(number);
      await end?.();
    }
  }

  async function work(number: number, given: unknown): Promise<void> {
    const call = open.get(number);
    if (!call?.work || call.attempt.ended) return;
    try {
      const value = await workOf(call, given);
      if (!call.attempt.ended) sendPlain({ type: 'did', ask: number, value });
    } catch (error) {
      if (!call.attempt.ended) send({ type: 'undone', ask: number, error: packError(error) });
    }
  }

  async function workOf(call: OpenCall, given: unknown): Promise<unknown> {
    try {
      return await call.work!(given);
    } catch (error) {
      call.thrown = { error };
      throw error;
    }
  }

  function sendPlain(message: FromIsolate): void {
    try {
      send(message);
    } catch (error) {
      const why = toError(error).message;
      throw new LongshoreError(
        'OPTION',
        `Expected plain data, got a value that cannot leave the isolate: ${why}`,
      );
    }
  }

  return {
    ask,
    work,
    answer: (number: number, value: unknown) => open.get(number)?.answer.resolve(value),
    refuse: (number: number, error: Thrown) => open.get(number)?.answer.reject(unpackError(error)),
    /** Adds the members of features to the context of an attempt. */
    addMembers(attempt: Ended, ctx: HandlerContext, doors: ContextDoors): void {
      for (const [name, { isolated }] of Object.entries(doors)) {
        if (typeof isolated === 'object') {
          const get = (): never => {
            throw config(
              `Job "${ctx.job}" runs in an isolate, so it has no ctx.${name}: ${isolated.refuses}.`,
            );
          };
          Object.defineProperty(ctx, name, { get }); // not enumerable, so that a handler may still spread its context
          continue;
        }
        const member = async (...args: readonly unknown[]): Promise<unknown> => {
          const { send: sent } = isolated === 'plain' ? {} : await isolated();
          return ask(attempt, name, sent ? sent(ctx, ...(args as never[])) : { args });
        };
        Object.assign(ctx, { [name]: member });
      }
    },
  };
}
