/** The output of a handler, as text that can be stored. */

import { toError } from '../../base/failure.ts';

export interface Output {
  /** JSON; `null` = the handler returned nothing, or its output cannot be kept. */
  readonly text: string | null;
  /** Why the output is not kept; `null` = it is, or there is none. */
  readonly problem: string | null;
}

/** A larger output is dropped with a warning: a record is a place for a summary, not for a file. */
const maxOutputChars = 65_536;

/** Never throws: the job has done its work, so an output that cannot be kept must not make it fail. */
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
