import { join } from 'node:path';
import { createSqsQueues } from '../../../functions/aws/index.ts';
import { type Endpoint, openEndpoint } from '../../services/aws/endpoint.ts';
import { describeCrash } from './scenario.ts';

let endpoint: Endpoint | null = null;
let url = '';

describeCrash('sqs', {
  keysApart: true,
  async address(folder) {
    endpoint = await openEndpoint();
    const names = { endpoint: endpoint.url, queues: ['default'], prefix: `crash${process.pid}-` };
    url = (await createSqsQueues(names)).default!;
    return JSON.stringify({ endpoint: endpoint.url, url, state: join(folder, 'state.db') });
  },
  async clear() {
    await endpoint?.deleteQueue(url);
    await endpoint?.deleteQueue(`${url}-dlq`);
    await endpoint?.stop();
  },
});
