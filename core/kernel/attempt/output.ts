/** What a handler returned, as text that can be kept. */

import { toError } from '../../base/failure.ts';

export interface Output {
  /** JSON text; `null` when nothing was returned or it cannot be kept. */
  readonly text: string | null;
  /** Why it is not kept. */
  readonly problem: string | null;
}

/** Larger outputs are dropped with a warning: a record is a place for a summary, not for a file. */
const maxOutputChars = 65_536;

/** The effect has happened, so an output that cannot be kept must not turn success into failure. */
export function outputOf(value: unknown): Output {
  if (value === undefined) return nothing;
  try {
    const text = JSON.stringify(value);
    if (text === undefined || text.length <= maxOutputChars) return { text: text ?? null, problem: null };
    return {
      text: null,
      problem: `it has ${text.length} characters, at most ${maxOutputChars} are kept`,
    };
  } catch (error) {
    return { text: null, problem: toError(error).message };
  }
}

const nothing: Output = Object.freeze({ text: null, problem: null });
