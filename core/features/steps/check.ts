/** Checks of a step, made where its code runs: in the worker or in an isolate. */

import { checkOptions } from '../../base/checks.ts';
import { LongshoreError, PermanentError, shown } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import type { StepOptions } from '../../kernel/app/durable.ts';

export type StepWork = (given: unknown) => unknown;

export function checkStep(work: unknown, options: StepOptions): asserts work is StepWork {
  if (typeof options !== 'object' || options === null)
    throw new LongshoreError(
      'OPTION',
      `Expected the options of ctx.step() as an object, got ${shown(options)}.`,
    );
  checkOptions('ctx.step()', options, { transaction: 'boolean' });
  if (typeof work !== 'function')
    throw new LongshoreError('OPTION', `Expected ctx.step(name, function), got ${shown(work)}.`);
}

/** The result as JSON; `null` = nothing. An invalid result is a permanent error, because the effect has happened and a retry would repeat it. */
export function resultText(name: string, value: unknown): string | null {
  if (value === undefined) return null;
  try {
    assertJson(value, 'result');
  } catch (error) {
    throw new PermanentError(`The result of step "${name}" cannot be kept. ${toError(error).message}`, {
      cause: error,
    });
  }
  return JSON.stringify(value);
}
