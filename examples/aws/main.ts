/**
 * The example app as three Lambda functions; serverless.yml at the root deploys them, and gives each what it needs. The shop's own
 * data is in a Postgres, its files in a bucket.
 */

import { dynamoStore, lambda, sqs } from '../../functions/aws/index.ts';
import { createExampleApp } from '../app/app.ts';
import { functionServices, required } from '../cloud/services.ts';
import { s3Files } from './files.ts';
import { lanes } from './lanes.ts';

const { app } = createExampleApp(functionServices(s3Files(() => required('SHOP_BUCKET'))));

export const { worker, schedule, enqueue } = lambda(app, {
  backend: sqs({ queueUrl: required('QUEUE_URL'), lanes }),
  store: dynamoStore({ table: required('TABLE') }),
  apiKeys: [{ id: 'operator', key: process.env.API_KEY ?? '' }], // only enqueue has it, and looks at it
});
