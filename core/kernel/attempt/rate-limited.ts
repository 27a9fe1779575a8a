import { RateLimitedError } from '../../base/errors.ts';

/** `ctx.rateLimited()`, in a worker and in an isolate. */
export function rateLimited(delayMs: number): never {
  throw new RateLimitedError(delayMs, `rate limited for ${delayMs} ms`);
}
