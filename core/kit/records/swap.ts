/** Changes of a text that others may change at the same time. */

import { LongshoreError } from '../../base/errors.ts';
import type { StepStore, StepText } from '../../contract/derived/steps.ts';

/** Competing writers meet a few times. After so many lost races something else is wrong. */
const mostTries = 100;
const longestPauseMs = 50;

export interface Swap<T> {
  readonly answer: T;
  /** What shall be there; absent = it stays as it is, `null` = nothing. */
  readonly text?: string | null;
  readonly endsAt?: number;
}

/**
 * Applies `change` to the text as it is, and again after each lost race. Resolves with its answer and with what is there afterwards.
 *
 * @param known what was there when it was last looked at; `undefined` = it was not
 */
export async function swap<T>(
  store: StepStore,
  name: string,
  known: StepText | null | undefined,
  change: (text: string | null) => Swap<T>,
): Promise<{ readonly answer: T; readonly now: StepText | null }> {
  let found = known === undefined ? await store.read(name) : known;
  for (let tries = 0; tries < mostTries; tries++) {
    const { answer, text, endsAt } = change(found?.text ?? null);
    if (text === undefined) return { answer, now: found };
    if (text === null) {
      if (found === null || (await store.remove(name, found.version))) return { answer, now: null };
    } else {
      const version = await store.write(name, text, found?.version ?? null, endsAt!);
      if (version !== null) return { answer, now: { text, version } };
    }
    if (tries > 2) await backOff(Math.min(longestPauseMs, 2 ** tries));
    found = await store.read(name);
  }
  throw new LongshoreError('BACKEND', `Expected to write ${name}, lost ${mostTries} races.`);
}

/** Chance keeps writers that have lost a race together from meeting again. */
export const backOff = (mostMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * mostMs));
