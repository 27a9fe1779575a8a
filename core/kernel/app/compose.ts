/** Runs work inside layers of middleware, the first one outermost. Loaded only by apps with middleware. */

import { config } from '../../base/errors.ts';

type Layer<Call, Result> = (call: Call, next: () => Promise<Result>) => unknown;

/**
 * Resolves with the return value of the outermost layer. A layer that returns `undefined` keeps the result of `next()`.
 * A layer must call `next()` exactly once: else a forgotten call would settle jobs that never ran. This waits for the work even if
 * a layer did not, or has thrown: a retry or a rollback must not run beside the work.
 */
export async function compose<Call, Result>(
  layers: readonly Layer<Call, Result>[],
  call: Call,
  work: () => Promise<Result>,
  at = 0,
): Promise<Result> {
  const layer = layers[at];
  if (!layer) return work();
  let inner: Promise<Result> | null = null;
  let result: Result | undefined;
  let innerEnded = false;
  let layerEnded = false;
  // Throws instead of rejecting: a second call that is not awaited would end the process as an unhandled rejection.
  const next = (): Promise<Result> => {
    if (inner || layerEnded)
      throw config('A middleware called next() again, or after it had ended. Call it once, and wait for it.');
    inner = compose(layers, call, work, at + 1);
    inner.then(
      (value) => {
        result = value;
        innerEnded = true;
      },
      () => {
        innerEnded = true;
      },
    );
    return inner;
  };
  let returned: unknown;
  try {
    returned = await layer(call, next);
  } catch (error) {
    layerEnded = true;
    await Promise.allSettled([inner]);
    throw error;
  }
  layerEnded = true;
  if (!inner)
    throw config('A middleware ended without calling next(), so nothing was run. Call next(), or throw.');
  if (!innerEnded) result = await (inner as Promise<Result>);
  return (returned === undefined ? result : returned) as Result;
}
