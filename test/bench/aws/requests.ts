/** What a job costs: SQS counts requests, not messages. */

import { connect, createApp, keyRing } from '../../../core/index.ts';
import { sqs } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { openEndpoint } from '../../services/aws/endpoint.ts';
import { type Bench, limitRow, type Row } from '../kit/bench.ts';
import { job } from './entries/functions.ts';

const jobs = 1_000;

/** Enqueue, receive and delete, ten at a time, by a worker of one's own; on Lambda AWS does the last two. */
export async function requests(_: Bench): Promise<Row[]> {
  const endpoint = await openEndpoint();
  try {
    await endpoint.createQueue(`bench${process.pid}-mail-dlq`);
    const url = await endpoint.createQueue(`bench${process.pid}-mail`);
    let count = 0;
    endpoint.client.middlewareStack.add(
      (next) => (args) => {
        count++;
        return next(args);
      },
      { step: 'initialize', name: 'count' },
    );
    const backend = sqs({ queues: { mail: url }, client: endpoint.client });
    const app = createApp({
      jobs: [job],
      signing: keyRing([{ kid: 'k', secret: new Uint8Array(32).fill(1) }]),
    });
    const client = connect(app, backend, { store: memoryStore() });
    await backend.check(); // once per process, not per job
    count = 0;
    await client.enqueueMany(job, new Array(jobs).fill(null));
    for (let done = 0; done < jobs; ) {
      const leases = await backend.fetch({ queues: ['mail'], max: 50, leaseMs: 60_000, waitMs: 0 });
      await backend.ack(leases.map((lease) => ({ lease })));
      done += leases.length;
    }
    await client.close();
    return [limitRow('SQS requests per job: enqueue, receive, delete', '', [count / jobs], 0.35)];
  } finally {
    await endpoint.stop();
  }
}
