/**
 * The example app as three Lambda functions; serverless.yml at the root deploys them. The shop's own data is a file here
 * and lives as long as a function's disk does: a real shop has a database.
 */

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dynamoStore, lambda, sqs } from '../../functions/aws/index.ts';
import { createExampleApp } from '../app/app.ts';
import { createServices } from '../app/services.ts';
import { lanes } from './lanes.ts';

/** Set by serverless.yml. */
function required(name: string): string {
  const value = process.env[name];
  if (!value)
    throw new Error(`Expected ${name} in the environment, got nothing. Deploy with serverless.yml.`);
  return value;
}

const services = createServices({
  folder: join(tmpdir(), 'shop'),
  smtpUrl: required('SMTP_URL'),
  webhookUrl: required('WEBHOOK_URL'),
  paymentUrl: required('PAYMENT_URL'),
});
const { app } = createExampleApp(services);

export const { worker, schedule, enqueue } = lambda(app, {
  backend: sqs({ queueUrl: required('QUEUE_URL'), lanes }),
  store: dynamoStore({ table: required('TABLE') }),
  apiKeys: [{ id: 'operator', key: required('API_KEY') }],
});
