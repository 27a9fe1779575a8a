/** What the tests deploy. */

import { lambda, sqs } from '../../../functions/aws/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { app } from './runtime-app.ts';

const { QUEUE_URL: queueUrl = '', SQS_ENDPOINT: endpoint = '' } = process.env;
const backend = sqs({ queueUrl, endpoint, region: 'us-east-1' });
export const { worker, schedule, enqueue } = lambda(app, {
  backend,
  store: memory().stores!,
  marginMs: 1_000,
  authorize: () => ({ tenantId: null }),
});
