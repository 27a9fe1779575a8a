/** The limits of jobs and queues. core/features/limits enforces them. */

import { checkInteger, checkNumber, checkOptions, type OptionKinds } from '../../base/checks.ts';
import { config } from '../../base/errors.ts';
import type { JobContext } from '../../envelope/envelope.ts';

export type KeyOf<Payload> = (payload: Payload, context: JobContext) => string | null;

export interface ConcurrencyLimit<Payload = unknown> {
  /** How many jobs run at the same time, across all workers. */
  readonly limit: number;
  /** Counts separately per key: at most 256 characters; `null` = this job is not limited. @default all jobs count together */
  readonly key?: KeyOf<Payload>;
}

export interface RateLimit<Payload = unknown> {
  /** How many jobs start in any `perMs`, across all workers. */
  readonly limit: number;
  readonly perMs: number;
  /** Counts separately per key: at most 256 characters; `null` = this job is not limited. @default all jobs count together */
  readonly key?: KeyOf<Payload>;
  /** Spreads the jobs evenly: one every `perMs / limit`. @default false: jobs start at once, until the limit is reached */
  readonly smooth?: boolean;
  /** The longest time for which `ctx.rateLimited()` can stop the rate, because services send wrong numbers. ms. @default one day */
  readonly maxHoldMs?: number;
}

export interface Limits<Payload = unknown> {
  readonly concurrency?: ConcurrencyLimit<Payload>;
  readonly rate?: RateLimit<Payload>;
}

/** One limit, as workers apply it. */
export interface Limit {
  readonly kind: 'concurrency' | 'rate';
  /** `job:<name>`, `queue:<name>` or `batch:<id>`. */
  readonly of: string;
  readonly slots: number;
  /** How long a slot is held; `null` = as long as the lease. */
  readonly holdMs: number | null;
  readonly keyOf: KeyOf<never> | null;
  /** The longest time for which `ctx.rateLimited()` can stop the rate. */
  readonly maxHoldMs: number;
}

/** The key of a limit without a `key` function, and the beginning of the keys of any other. */
export const sharedKey = ({ of, kind }: Limit): string => `${of}:${kind}`;

const dayMs = 86_400_000;
const most = 10_000;
const concurrencyKinds = { limit: 1, key: 'function' } satisfies OptionKinds<ConcurrencyLimit>;
const rateKinds = {
  ...concurrencyKinds,
  perMs: 1,
  smooth: 'boolean',
  maxHoldMs: 1,
} satisfies OptionKinds<RateLimit>;

/** Throws `CONFIG`. `null` = none are declared. */
export function limitsOf<Payload>(
  of: string,
  { concurrency, rate }: Limits<Payload>,
): readonly Limit[] | null {
  if (concurrency == null && rate == null) return null;
  const limits: Limit[] = [];
  const add = (
    kind: Limit['kind'],
    { limit, key }: ConcurrencyLimit<Payload>,
    { perMs, smooth = false, maxHoldMs = dayMs }: Partial<RateLimit<Payload>> = {},
  ) => {
    const what = `limit of ${kind} of ${of}`;
    checkInteger(what, limit, 1);
    if (limit > most) throw config(`Expected ${what} to be at most ${most}, got ${limit}.`);
    if (kind === 'rate') checkNumber(`perMs of ${kind} of ${of}`, perMs!, 1);
    checkNumber(`maxHoldMs of ${kind} of ${of}`, maxHoldMs, 1);
    limits.push({
      kind,
      of,
      slots: smooth ? 1 : limit,
      holdMs: perMs && smooth ? Math.ceil(perMs / limit) : (perMs ?? null),
      keyOf: (key as Limit['keyOf'] | undefined) ?? null,
      maxHoldMs,
    });
  };
  if (rate != null) {
    checkOptions(`rate of ${of}`, rate, rateKinds);
    add('rate', rate, rate);
  }
  if (concurrency != null) {
    checkOptions(`concurrency of ${of}`, concurrency, concurrencyKinds);
    add('concurrency', concurrency);
  }
  return limits;
}
