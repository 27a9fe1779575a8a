/** The smallest worker there is: what remains is Longshore's own code. */

import { createApp, defineJob, keyRing } from '../../../../core/index.ts';
import type { StandardSchema } from '../../../../core/schema.ts';
import { dynamoStore, lambda, sqs } from '../../../../functions/aws/index.ts';

const payload: StandardSchema<null, null> = {
  '~standard': { version: 1, vendor: 'bench', validate: () => ({ value: null }) },
};
export const job = defineJob({ name: 'nothing', queue: 'mail', payload, handle: () => null });
const app = createApp({
  jobs: [job],
  signing: keyRing([{ kid: 'k', secret: new Uint8Array(32).fill(1) }]),
});
/** Loads its part, and its SDK, with the first job. */
const store = dynamoStore({ table: 'bench-jobs' });
const queueUrl = 'http://127.0.0.1:1/000000000000/bench-';

export const { worker, enqueue, schedule } = lambda(app, { backend: sqs({ queueUrl }), store });
