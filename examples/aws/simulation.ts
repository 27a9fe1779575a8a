/** The services around the shop's functions in `longshore simulate lambda`. */

import { connect } from '../../core/index.ts';
import { dynamoStore, sqs } from '../../functions/aws/index.ts';
import { openShop } from '../demo/simulated.ts';
import { lanes } from './lanes.ts';

export interface Surroundings {
  readonly folder: string;
  readonly sqsEndpoint: string;
  readonly queueUrl: string;
  readonly table: string;
  readonly dynamoEndpoint: string;
}

export async function startShop({ folder, sqsEndpoint, queueUrl, table, dynamoEndpoint }: Surroundings) {
  const store = dynamoStore({ table, endpoint: dynamoEndpoint });
  const backend = sqs({ endpoint: sqsEndpoint, queueUrl, lanes });
  return openShop(folder, (app) => connect(app, backend, { store }));
}
