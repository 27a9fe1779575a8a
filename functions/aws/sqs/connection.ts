/** What all parts of the backend share: the queues, the clock, and the SDK once somebody needs it. */

import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { config, shown } from '../../../core/base/errors.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { onDemand } from '../../../core/kit/lazy.ts';
import type { SqsApi } from './api.ts';
import { type QueueAddress, type QueueOptions, type Queues, resolveQueues } from './queues.ts';
import type { Scheduler } from './scheduler.ts';

/** An `SQSClient`. Described by its shape, so that a program without its types compiles. */
export interface SqsClient {
  send(command: never): Promise<unknown>;
}

/** A `SchedulerClient`, by its shape. */
export interface SchedulerClient {
  send(command: never): Promise<unknown>;
}

export interface SchedulerOptions {
  /** What EventBridge Scheduler sends as: a role that it may take on, with sqs:SendMessage on the queues and their dead-letter queues. */
  readonly roleArn: string;
  /** The group that the schedules are made in. @default 'default' */
  readonly groupName?: string;
  /** Instead of AWS. */
  readonly endpoint?: string;
  /** Instead of a client of our own. */
  readonly client?: SchedulerClient;
}

export interface ConnectionOptions extends QueueOptions {
  /** @default that of AWS_REGION or of the queue's URL */
  readonly region?: string;
  /** For LocalStack and its like. One on this machine is given no credentials of yours. */
  readonly endpoint?: string;
  /** Instead of a client of our own; `close()` leaves it open. */
  readonly client?: SqsClient;
  /** Where it is remembered that a delivery was no attempt. FIFO queues need it, others do not. */
  readonly keys?: KeyStore;
  /** Delays over 15 minutes by EventBridge Scheduler. @default by messages that go round every 15 minutes */
  readonly scheduler?: SchedulerOptions;
  readonly clock?: Clock;
}

export interface Connection {
  readonly clock: Clock;
  readonly queues: Queues;
  /** Throws `CONFIG` for a queue that is not known. */
  addressOf(queue: string): QueueAddress;
  readonly region: string | undefined;
  api(): Promise<SqsApi>;
  /** `null`: none is configured. */
  scheduler(): Promise<Scheduler | null>;
  /** Runs `work`; what the SDK throws comes out as a LongshoreError. `during` is for people. */
  call<T>(during: string, work: (api: SqsApi) => Promise<T>): Promise<T>;
  onClose(close: () => void): void;
  close(): Promise<void>;
}

export function createConnection(options: ConnectionOptions): Connection {
  const { clock = systemClock, keys } = options;
  const queues = resolveQueues(options);
  for (const address of queues.all()) checkPlace(address);
  const { roleArn } = options.scheduler ?? {};
  if (options.scheduler && !/^arn:[\w-]+:iam::\d{12}:role\/./.test(String(roleArn))) {
    throw config(
      `Expected scheduler.roleArn of sqs() to be like arn:aws:iam::123456789012:role/scheduler, got ${shown(roleArn)}.`,
    );
  }
  let opening: Promise<SqsApi> | null = null;

  function checkPlace(address: QueueAddress): QueueAddress {
    if (!address.fifo || keys) return address;
    throw config(
      `FIFO queue "${address.name}" needs keys: sqs({ keys: store.keys }). Its messages cannot be released uncounted without.`,
    );
  }

  function api(): Promise<SqsApi> {
    opening ??= import('./sdk.ts').then(({ openSqs }) => openSqs(connection, options));
    return opening;
  }
  const scheduler = onDemand(async () => {
    const { createScheduler } = await import('./scheduler.ts');
    return createScheduler(connection, options.scheduler!);
  });
  const closing: (() => void)[] = [];

  const connection: Connection = {
    clock,
    queues,
    addressOf: (queue) => checkPlace(queues.of(queue)),
    region: regionOf(options, queues),
    api,
    scheduler: async () => (options.scheduler ? scheduler() : null),
    onClose: (close) => void closing.push(close),
    async call(during, work) {
      try {
        return await work(await api());
      } catch (error) {
        throw (await import('./errors.ts')).sqsError(during, error);
      }
    },
    async close() {
      const opened = opening;
      opening = null;
      (await opened)?.close();
      for (const end of closing.splice(0)) end();
    },
  };
  return connection;
}

/** Of the option, else of the environment, else of the queue's URL. */
function regionOf({ region, queueUrl }: ConnectionOptions, queues: Queues): string | undefined {
  const url = queueUrl ?? queues.all()[0]?.url ?? '';
  return region ?? process.env.AWS_REGION ?? /^https?:\/\/sqs\.([a-z0-9-]+)\./.exec(url)?.[1];
}
