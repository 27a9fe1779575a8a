/** The middleware around a handler. Loaded with the first attempt of an app or job that has some. */

import { compose } from '../app/compose.ts';
import { currentContext, withContext } from '../app/context.ts';
import type { HandlerContext } from '../app/job.ts';
import type { Admitted } from './attempt.ts';
import { type Output, outputOf } from './output.ts';
import { abortReason, type Run } from './run.ts';
import { mayBegin } from './verdict.ts';

export type OwnContext = { -readonly [Name in keyof HandlerContext]: HandlerContext[Name] };

/** Called in a later turn than `execute`, which by then can end it. Resolves with what the outermost layer returned: for an isolated job as an `Output`, like the isolate itself. */
export async function aroundHandler(
  it: Admitted,
  ctx: OwnContext,
  isIsolated: boolean,
  handler: () => unknown,
): Promise<unknown> {
  const { app, job, run, envelope } = it;
  let output: Output | null = null;
  let value: unknown;
  run.began = false; // not before the layers have called it
  const last = async () => {
    mayBegin(it); // the layers may have taken longer than the attempt may last
    run.began = !isIsolated; // an isolate says so itself
    ctx.context = currentContext() ?? ctx.context;
    value = await untilEnd(run, handler);
    if (!isIsolated) return value;
    output = value as Output;
    value = output.text === null ? undefined : JSON.parse(output.text);
    return value;
  };
  // The isolate runs the job's own: they belong to the handler, and may set up what is in its memory.
  const layers = isIsolated ? app.middleware.attempt : [...app.middleware.attempt, ...job.use];
  const all = () => compose(layers, ctx as HandlerContext, last);
  const isBare = envelope.context == null && currentContext() === undefined;
  const returned = await (isBare ? all() : withContext(ctx.context, all));
  if (!isIsolated) return returned;
  return output !== null && returned === value ? output : outputOf(returned);
}

/** The layers see the end of the attempt as what `next()` rejects with, whatever the handler does: they have things to undo. */
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
