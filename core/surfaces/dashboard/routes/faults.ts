import { toError } from '../../../base/failure.ts';
import { Refusal } from '../../http/problem.ts';
import type { Run } from '../call.ts';
import { knownName } from './find.ts';

export const causeFault: Run = async ({ faults }, { parameter }) => {
  if (!faults) {
    throw new Refusal(
      404,
      'NOT_FOUND',
      'Faults can be caused in development only: start `longshore dev` for that.',
    );
  }
  const names = faults.list.map(({ name }) => name);
  const name = knownName('fault', parameter, names);
  try {
    return await faults.cause(name);
  } catch (cause) {
    throw new Refusal(409, 'CONFLICT', toError(cause).message, { cause });
  }
};
