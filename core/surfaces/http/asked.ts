/** Asking a store for what a queue may not keep. */

import { LongshoreError } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import { Refusal } from './problem.ts';

/** A failure of the store that is no answer to the caller becomes one of the backend. @param without said where nothing is kept */
export async function asked<T>(during: string, ask: () => Promise<T>, without: string): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof LongshoreError)) throw backendError(during, error);
    if (error.code === 'CONFIG') throw new Refusal(501, 'CONFIG', without, { cause: error });
    if (error.code === 'BATCH') throw new Refusal(409, 'CONFLICT', error.message, { cause: error });
    throw error;
  }
}
