/** Shared by all parts of the backend: the queues, the clock, and the SDK, which is loaded on first use. */

import type { Clock } from '../../../core/base/clock.ts';
import { systemClock } from '../../../core/base/clock.ts';
import { config, LongshoreError, shown } from '../../../core/base/errors.ts';
import type { Foreign } from '../../../core/contract/foreign.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { serviceOf } from '../../../core/kit/service.ts';
import { type Remedies, sdkError } from '../sdk-client.ts';
import type { Failure } from './batches.ts';
import { type QueueAddress, type Queues, resolveQueues } from './queues.ts';
import { createScheduler, type SchedulerOptions } from './scheduler.ts';
import { openSqs, type SqsAccess } from './sdk.ts';

export interface ConnectionOptions extends SqsAccess {
  /** Counts deliveries that were no attempts. Only FIFO queues need it. */
  readonly keys?: KeyStore;
  /** Delays over 15 minutes by EventBridge Scheduler. @default such messages are sent again every 15 minutes */
  readonly scheduler?: SchedulerOptions;
  /** By queue: the rules of `foreign()` that make jobs of other programs' messages. @default such messages are rejected */
  readonly foreign?: Readonly<Record<string, Foreign>>;
  readonly clock?: Clock;
}

export type Connection = ReturnType<typeof createConnection>;

export function createConnection(options: ConnectionOptions) {
  const { clock = systemClock, keys, foreign = {} } = options;
  const queues = resolveQueues(options);
  for (const name of Object.keys(foreign)) queues.of(name); // throws for an unknown queue
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
    /** Throws `CONFIG` for an unknown queue. */
    addressOf: (queue: string): QueueAddress => checkKeys(queues.of(queue)),
    /** `null` = none is configured. */
    scheduler,
    async close(): Promise<void> {
      await service.close();
      await scheduler?.close();
    },
  };
}

/** The region from the option, else from the queue's URL, else from the environment: a function may send to a queue of another region. */
function regionOf({ region, queueUrl }: ConnectionOptions, queues: Queues): string | undefined {
  const url = queueUrl ?? queues.all()[0]?.url ?? '';
  return region ?? regionInUrl.exec(url)?.[1] ?? process.env.AWS_REGION;
}

const regionInUrl = /^https?:\/\/(?:[\w-]+\.)?sqs(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d)\./;

const create = 'Create it, or correct its URL.';
const grant =
  'Grant it: sending needs sqs:SendMessage, also on the dead-letter queue; running jobs needs sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility and sqs:GetQueueAttributes.';
const remedies: Remedies = {
  QueueDoesNotExist: create,
  'AWS.SimpleQueueService.NonExistentQueue': create,
  AccessDenied: grant,
  AccessDeniedException: grant,
};

/** @param during for people: `receiving from queue "mail"` */
export const sqsError = (during: string, cause: unknown): LongshoreError =>
  sdkError(`SQS failed while ${during}`, cause, remedies);

export function failedEntry(during: string, { code, message }: Failure): LongshoreError {
  return new LongshoreError('BACKEND', `SQS failed while ${during}: ${code}: ${message}`);
}
