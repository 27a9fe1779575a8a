import { expect } from 'vitest';
import { LongshoreError } from '../../../core/index.ts';

/** What Longshore throws. */
export function errorOf(work: () => unknown): LongshoreError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(LongshoreError);
    return error as LongshoreError;
  }
  throw new Error('expected an error');
}
