/** What is loaded with the first batch. */

export { markEnd } from './attempt.ts';
export { batchInJob } from './in-job.ts';
export { batchesOf } from './manage.ts';
export { markGone } from './marks.ts';
export { sendBatch } from './send.ts';
export { waitForBatch } from './wait-for-batch.ts';
