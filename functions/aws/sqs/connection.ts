/** What all parts of the backend share: the queues, the clock, and the SDK from its first use on. */

import { systemClock } from '../../../core/base/clock.ts';
import { config, shown } from '../../../core/base/errors.ts';
import { serviceOf } from '../../../core/kit/service.ts';
import { sqsError } from './errors.ts';
import type { ConnectionOptions } from './options.ts';
import { type QueueAddress, type Queues, resolveQueues } from './queues.ts';
import { createScheduler } from './scheduler.ts';
import { openSqs } from './sdk.ts';

export type Connection = ReturnType<typeof createConnection>;

export function createConnection(options: ConnectionOptions) {
  const { clock = systemClock, keys, foreign = {} } = options;
  const queues = resolveQueues(options);
  for (const name of Object.keys(foreign)) queues.of(name); // throws for a queue that is not configured
  for (const address of queues.all()) checkKeys(address);
  const { roleArn } = options.scheduler ?? {};
  if (options.scheduler && !/^arn:[\w-]+:iam::\d{12}:role\/./.test(String(roleArn))) {
    throw config(
      `Expected scheduler.roleArn of sqs() to be like arn:aws:iam::123456789012:role/scheduler, got ${shown(roleArn)}.`,
    );
  }
  const region = regionOf(options, queues);

  function checkKeys(address: QueueAddress): QueueAddress {
    if (!address.fifo || keys) return address;
    throw config(
      `FIFO queue "${address.name}" needs keys: sqs({ keys: store.keys }). Without, a released message would count as an attempt.`,
    );
  }

  const service = serviceOf(() => openSqs(region, options), sqsError);
  const scheduler = options.scheduler ? createScheduler(service, region, options.scheduler) : null;

  return {
    ...service,
    clock,
    queues,
    foreign,
    /** Throws `CONFIG` for a queue that is not known. */
    addressOf: (queue: string): QueueAddress => checkKeys(queues.of(queue)),
    /** `null`: none is configured. */
    scheduler,
    async close(): Promise<void> {
      await service.close();
      await scheduler?.close();
    },
  };
}

/** From the option, else from the queue's URL, else from the environment: a function may send to a queue of another region. */
function regionOf({ region, queueUrl }: ConnectionOptions, queues: Queues): string | undefined {
  const url = queueUrl ?? queues.all()[0]?.url ?? '';
  return region ?? regionInUrl.exec(url)?.[1] ?? process.env.AWS_REGION;
}

const regionInUrl = /^https?:\/\/(?:[\w-]+\.)?sqs(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d)\./;
