/** Changes a text that other writers may change at the same time. */

import { LongshoreError } from '../../base/errors.ts';
import type { StepStore, StepText } from '../../contract/derived/steps.ts';

/** Competing writers meet a few times. After this number of lost races something else is wrong. */
const mostTries = 100;
const longestPauseMs = 50;

export interface Swap<T> {
  readonly answer: T;
  /** The new text; `null` = remove it, absent = leave it unchanged. */
  readonly text?: string | null;
  readonly endsAt?: number;
  /** Awaited before the text is written. */
  before?(): Promise<void>;
}

/**
 * Applies `change` to the current text, and again after each lost race. Resolves with its answer and with the text afterwards.
 *
 * @param known the text when the caller last read it; `undefined` = not read yet
 */
export async function swap<T>(
  store: StepStore,
  name: string,
  known: StepText | null | undefined,
  change: (text: string | null) => Swap<T>,
): Promise<{ readonly answer: T; readonly now: StepText | null }> {
  let found = known === undefined ? await store.read(name) : known;
  for (let tries = 0; tries < mostTries; tries++) {
    const { answer, text, endsAt, before } = change(found?.text ?? null);
    if (text === undefined) return { answer, now: found };
    if (text === null) {
      if (found === null || (await store.remove(name, found.version))) return { answer, now: null };
    } else {
      await before?.();
      const version = await store.write(name, text, found?.version ?? null, endsAt!);
      if (version !== null) return { answer, now: { text, version } };
    }
    if (tries > 2) await backOff(Math.min(longestPauseMs, 2 ** tries));
    found = await store.read(name);
  }
  throw new LongshoreError('BACKEND', `Expected to write ${name}, lost ${mostTries} races.`);
}

/** A random pause, so that writers that have lost a race do not meet again. */
export const backOff = (mostMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * mostMs));
