/** The smallest worker there is: what remains is Longshore's own code. */

import { createApp, defineJob, keyRing } from '../../../../core/index.ts';
import type { StandardSchema } from '../../../../core/schema.ts';
import type { Stores } from '../../../../core/store.ts';
import { lambda, sqs } from '../../../../functions/aws/index.ts';

const payload: StandardSchema<null, null> = {
  '~standard': { version: 1, vendor: 'bench', validate: () => ({ value: null }) },
};
export const job = defineJob({ name: 'nothing', queue: 'mail', payload, handle: () => null });
const app = createApp({
  jobs: [job],
  signing: keyRing([{ kid: 'k', secret: new Uint8Array(32).fill(1) }]),
});
/** Without the state that a job writes: its SDK is measured beside it. */
const nowhere = {};
const store = { keys: nowhere, records: nowhere, workers: nowhere } as Stores;
const queueUrl = 'http://127.0.0.1:1/000000000000/bench-';

export const { worker, enqueue, schedule } = lambda(app, { backend: sqs({ queueUrl }), store });
