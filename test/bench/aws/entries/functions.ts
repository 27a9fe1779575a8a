/** Functions of an app with one job that does nothing: what remains is Longshore's own code. */

import { createApp, defineJob, keyRing } from '../../../../core/index.ts';
import type { Schedule } from '../../../../core/kernel/app/schedule.ts';
import type { StandardSchema } from '../../../../core/kernel/app/schema.ts';
import { dynamoStore, type LambdaHandlers, lambda, sqs } from '../../../../functions/aws/index.ts';

const payload: StandardSchema<null, null> = {
  '~standard': { version: 1, vendor: 'bench', validate: () => ({ value: null }) },
};
export const job = defineJob({ name: 'nothing', queue: 'mail', payload, handle: () => null });
/** Loads its part, and its SDK, with the first job. */
const store = dynamoStore({ table: 'bench-jobs' });
const queueUrl = 'http://127.0.0.1:1/000000000000/bench-';

export const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32).fill(1) }]);

export function functionsWith(schedules: readonly Schedule[]): LambdaHandlers {
  return lambda(createApp({ jobs: [job], schedules, signing }), { backend: sqs({ queueUrl }), store });
}
