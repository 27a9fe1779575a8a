/** Unique jobs and debounce, as jobs and calls ask for them. core/features/unique keeps to them. */

import { checkOptions, type OptionKinds } from '../../base/checks.ts';
import { config, shown } from '../../base/errors.ts';

export interface Unique<Key = string> {
  /** 1 to 256 characters. Counts per job, queue and tenant; a function may answer `null`: this job is not unique. */
  readonly key: Key;
  /**
   * While the earlier job does this, a new one is a duplicate: `waiting` also between two attempts, `either` until it has ended.
   * `forMs`: for this many ms after it was enqueued, whatever it does.
   */
  readonly during: 'waiting' | 'running' | 'either' | { readonly forMs: number };
  /**
   * `replace`: the earlier job gets the payload, delay and priority of this one, if it still waits. Needs a backend that can change a
   * job that waits. @default 'skip'
   */
  readonly onConflict?: 'skip' | 'replace';
}

export interface Debounce<Key = string> {
  /** As for `unique`. */
  readonly key: Key;
  /** The job runs this long after the last call, with the payload of that call. */
  readonly waitMs: number;
  /** The longest wait after the first call. @default as long as calls come */
  readonly maxWaitMs?: number;
}

export interface Uniqueness<Key> {
  /** No second job is enqueued while a job with this key is active. */
  readonly unique?: Unique<Key>;
  /** Calls with this key make one job, until it begins. Not beside `unique`. */
  readonly debounce?: Debounce<Key>;
}

/** Debounce is `during: 'waiting'` that replaces, with a delay that begins anew. */
export type UniqueRule<Key> = Required<Unique<Key>> & Partial<Debounce<Key>>;

const kinds = {
  unique: { key: '', during: '', onConflict: '' } satisfies OptionKinds<Unique>,
  debounce: { key: '', waitMs: 1, maxWaitMs: 1 } satisfies OptionKinds<Debounce>,
};
const times = ['waiting', 'running', 'either'];

/** Throws `CONFIG`. `null` = neither is asked for. */
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
