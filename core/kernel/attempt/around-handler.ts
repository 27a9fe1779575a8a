/** The middleware around a handler. Loaded with the first attempt of an app or job that has middleware. */

import { compose } from '../app/compose.ts';
import { currentContext, withContext } from '../app/context.ts';
import type { TransactionContext } from '../app/job.ts';
import type { Admitted } from './attempt.ts';
import { type Output, outputOf } from './output.ts';
import { abortReason, type Run } from './run.ts';
import { mayBegin } from './verdict.ts';

export type OwnContext = { -readonly [Name in keyof TransactionContext]: TransactionContext[Name] };

/** Called in a later turn than `execute`, which can then already end the run. Resolves with the outermost layer's result, or an isolated job's `Output`. */
export async function aroundHandler(
  it: Admitted,
  ctx: OwnContext,
  isIsolated: boolean,
  handler: () => unknown,
): Promise<unknown> {
  const { app, job, run, envelope } = it;
  let output: Output | null = null;
  let value: unknown;
  run.began = false; // the layers have not called the handler yet
  const last = async () => {
    mayBegin(it); // the layers may have taken longer than the attempt may take
    run.began = !isIsolated; // an isolate reports its own begin
    ctx.context = currentContext() ?? ctx.context;
    value = await untilEnd(run, handler);
    if (!isIsolated) return value;
    output = value as Output;
    value = output.text === null ? undefined : JSON.parse(output.text);
    return value;
  };
  // The isolate runs the job's own middleware, which may set up the memory of its handler.
  const layers = isIsolated ? app.middleware.attempt : [...app.middleware.attempt, ...job.use];
  const all = () => compose(layers, ctx as TransactionContext, last);
  const isBare = envelope.context == null && currentContext() === undefined;
  const returned = await (isBare ? all() : withContext(ctx.context, all));
  if (!isIsolated) return returned;
  return output !== null && returned === value ? output : outputOf(returned);
}

/** Rejects when the attempt ends, even if the handler goes on: the layers see it as a rejection of `next()` and can clean up. */
function untilEnd(run: Run, handler: () => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const outer = run.onEnd;
    run.onEnd = (reason) => {
      reject(reason);
      outer?.(reason);
    };
    Promise.resolve(handler()).then(resolve, reject);
    if (run.ended) reject(abortReason(run.cause!));
  });
}
