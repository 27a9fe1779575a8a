/** The options `unique` and `debounce` of jobs and calls. core/features/unique applies them. */

import { checkOptions, type OptionKinds } from '../../base/checks.ts';
import { config, shown } from '../../base/errors.ts';

export interface Unique<Key = string> {
  /** 1 to 256 characters. Counts per job, queue and tenant. A function may return `null`: this job is not unique. */
  readonly key: Key;
  /**
   * How long the earlier job makes a new one a duplicate. `waiting`: while it waits, also between two attempts. `running`: while it runs.
   * `either`: until it has ended. `forMs`: for this many ms after it was enqueued, even if it has ended.
   */
  readonly during: 'waiting' | 'running' | 'either' | { readonly forMs: number };
  /**
   * `replace`: the earlier job gets the payload, delay and priority of the new one, if it still waits. Needs a backend that can change
   * a waiting job. `skip`: the earlier job stays as it is. @default 'skip'
   */
  readonly onConflict?: 'skip' | 'replace';
}

export interface Debounce<Key = string> {
  /** As the `key` of `unique`. */
  readonly key: Key;
  /** The job runs this many ms after the last call, with the payload of that call. */
  readonly waitMs: number;
  /** The longest wait after the first call, ms. @default no limit: each call starts the wait again */
  readonly maxWaitMs?: number;
}

export interface Uniqueness<Key> {
  /** While a job with this key is active, no second job is enqueued. */
  readonly unique?: Unique<Key>;
  /** All calls with this key make one job, until that job starts. Cannot be combined with `unique`. */
  readonly debounce?: Debounce<Key>;
}

/** A debounce becomes `during: 'waiting'` with `replace`, and each call starts the delay again. */
export type UniqueRule<Key> = Required<Unique<Key>> & Partial<Debounce<Key>>;

const kinds = {
  unique: { key: '', during: '', onConflict: '' } satisfies OptionKinds<Unique>,
  debounce: { key: '', waitMs: 1, maxWaitMs: 1 } satisfies OptionKinds<Debounce>,
};
const times = ['waiting', 'running', 'either'];

/** Throws `CONFIG`. `null` = neither option is given. */
export function uniqueRuleOf<Key>(
  of: string,
  keyType: 'function' | 'string',
  { unique, debounce }: Uniqueness<Key>,
): UniqueRule<Key> | null {
  const kind = unique != null ? 'unique' : 'debounce';
  const given = unique ?? debounce;
  if (given == null) return null;
  checkOptions<object>(`${kind} of ${of}`, given, kinds[kind]);
  const basis = unique ? { onConflict: 'skip' } : { during: 'waiting', onConflict: 'replace', waitMs: 0 };
  const rule = { ...basis, ...given } as UniqueRule<Key>;
  const { key, during: time, onConflict, waitMs = 1, maxWaitMs = waitMs } = rule;
  const expect = (holds: boolean, what: string, got: unknown) => {
    if (!holds) throw config(`Expected ${what} for ${kind} of ${of}, got ${shown(got)}.`);
  };
  expect(!unique || !debounce, 'no debounce', debounce);
  expect(typeof key === keyType, `a ${keyType} as key`, key);
  expect(
    times.includes(time as string) ||
      (Number.isSafeInteger((time as ForMs)?.forMs) && (time as ForMs).forMs > 0),
    `during ${times.join(', ')} or { forMs: 1 or more }`,
    time,
  );
  expect(['skip', 'replace'].includes(onConflict), 'onConflict skip or replace', onConflict);
  expect(waitMs > 0 && maxWaitMs >= waitMs, 'waitMs, and maxWaitMs no shorter', waitMs);
  return rule;
}

type ForMs = Extract<Unique['during'], object>;
