/** What all parts of the backend share: the queues, the clock, and the SDK once somebody needs it. */

import { type Clock, systemClock } from '../../../core/clock.ts';
import { config } from '../../../core/errors.ts';
import type { KeyStore } from '../../../core/store.ts';
import type { SqsApi } from './api.ts';
import { type Place, type QueueOptions, type Queues, resolveQueues } from './queues.ts';

/** An `SQSClient`. Described by its shape, so that a program without its types compiles. */
export interface SqsClient {
  send(command: never): Promise<unknown>;
}

export interface ConnectionOptions extends QueueOptions {
  /** @default that of AWS_REGION or of the queue's URL */
  readonly region?: string;
  /** For LocalStack and its like. */
  readonly endpoint?: string;
  /** Instead of a client of our own; `close()` leaves it open. */
  readonly client?: SqsClient;
  /** Where it is remembered that a delivery was no attempt. FIFO queues need it, others do not. */
  readonly keys?: KeyStore;
  readonly clock?: Clock;
}

export interface Connection {
  readonly clock: Clock;
  readonly queues: Queues;
  /** Throws `CONFIG` for a queue that is not known. */
  placeOf(queue: string): Place;
  api(): Promise<SqsApi>;
  /** Runs `work`; what the SDK throws comes out as a LongshoreError. `during` is for people. */
  told<T>(during: string, work: (api: SqsApi) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function createConnection(options: ConnectionOptions): Connection {
  const { clock = systemClock, keys } = options;
  const queues = resolveQueues(options);
  for (const place of queues.all()) checkPlace(place);
  let opening: Promise<SqsApi> | null = null;

  function checkPlace(place: Place): Place {
    if (!place.fifo || keys) return place;
    throw config(
      `FIFO queue "${place.name}" needs keys: sqs({ keys: store.keys }). Its messages cannot be handed back uncounted without.`,
    );
  }

  function api(): Promise<SqsApi> {
    opening ??= import('./sdk.ts').then(({ openSqs }) => openSqs(options, queues));
    return opening;
  }

  return {
    clock,
    queues,
    placeOf: (queue) => checkPlace(queues.of(queue)),
    api,
    async told(during, work) {
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
    },
  };
}
