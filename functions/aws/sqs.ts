/** Amazon SQS as a queue. It keeps no records and no keys: give `connect()`, `startWorker()` and `lambda()` a store. */

import type { OutgoingMessage, QueueBackend, SendResult } from '../../core/contract.ts';
import { config, type LongshoreError } from '../../core/errors.ts';
import { checkInteger } from '../../core/job.ts';
import { type ConnectionOptions, createConnection } from './sqs/connection.ts';
import { sqsError } from './sqs/errors.ts';
import { createLeaseBook } from './sqs/leases.ts';
import type { Polling } from './sqs/polling.ts';
import type { Queues } from './sqs/queues.ts';
import { createReceiving, type Receiving } from './sqs/receiving.ts';
import { parcelOf, send, unsendable } from './sqs/sending.ts';
import { createSettling, failedEntry, longestHiddenMs } from './sqs/settling.ts';
import { createUncounted } from './sqs/uncounted.ts';

export interface SqsOptions extends ConnectionOptions {
  /** How long one receive call may wait, 1_000 to 20_000; `close()` waits as long for the last one. @default 5_000 */
  readonly longPollMs?: number;
}

export interface SqsBackend extends QueueBackend {
  readonly queues: Queues;
  /** Makes leases of what was received elsewhere; what is not due yet is sent on. */
  readonly accept: Receiving['accept'];
  /** Throws `CONFIG` unless these queues and their dead-letter queues exist. @default every queue configured */
  check(queues?: readonly string[]): Promise<void>;
}

/** SQS counts attributes; so much is kept free for ours, the reason and error of a dead letter included. */
const attributeBytes = 4_096;
const maxBodyBytes = 1_048_576 - attributeBytes;

export function sqs(options: SqsOptions): SqsBackend {
  const { longPollMs = 5_000, keys } = options;
  checkInteger('longPollMs of sqs()', longPollMs, 1_000);
  if (longPollMs > 20_000)
    throw config(`Expected longPollMs of sqs() to be at most 20000, got ${longPollMs}.`);
  const connection = createConnection(options);
  const { clock, queues, placeOf, told } = connection;
  const uncounted = keys ? createUncounted(keys, clock.now) : null;
  const settling = createSettling(connection, createLeaseBook(clock.now), uncounted);
  const { receive, accept, check } = createReceiving(connection, settling, uncounted);
  // A function that Lambda calls neither fetches nor lists: what it does not need, it does not load.
  let polling: Promise<Polling> | null = null;
  const polls = (): Promise<Polling> => {
    polling ??= import('./sqs/polling.ts').then(({ createPolling }) =>
      createPolling({
        clock,
        longPollMs,
        receive,
        async handBack(leases) {
          for (const lease of leases) await settling.nack(lease, { delayMs: 0, countAttempt: false });
        },
      }),
    );
    return polling;
  };
  const letters = async () => (await import('./sqs/dead-letters.ts')).deadLettersOf(connection);

  async function sendAll(queue: string, messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const { url, fifo } = placeOf(queue);
    const now = clock.now();
    const parcels = messages.map(({ id, job, group, notBefore, body }) =>
      parcelOf(body, { id, job, group, attempts: 0, notBefore }, now),
    );
    const during = `sending to queue "${queue}"`;
    const failures = await told(during, (api) => send(api, url, fifo, parcels));
    return messages.map(({ id }, i) => {
      const failure = failures[i];
      if (!failure) return { ok: true, id, duplicate: false };
      const { cause } = failure;
      return { ok: false, id, error: cause ? sqsError(during, cause) : failedEntry(during, failure) };
    });
  }

  return {
    name: 'sqs',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: longestHiddenMs },
    queues,
    accept,
    async check(names = queues.all().map(({ name }) => name)) {
      for (const queue of names) await check(queue);
    },

    async enqueue(messages) {
      const now = clock.now();
      const results = new Map<OutgoingMessage, SendResult>();
      const ready = messages.filter((message) => {
        const error = unsendable(message, placeOf(message.queue).fifo, maxBodyBytes, now);
        if (error) results.set(message, { ok: false, id: message.id, error });
        return !error;
      });
      const failed: LongshoreError[] = [];
      const groups = Map.groupBy(ready, (message) => message.queue);
      for (const [queue, group] of groups) {
        const sent = await sendAll(queue, group).catch((error: LongshoreError) => {
          failed.push(error);
          return group.map(({ id }): SendResult => ({ ok: false, id, error }));
        });
        for (const [i, message] of group.entries()) results.set(message, sent[i]!);
      }
      if (failed.length > 0 && failed.length === groups.size) throw failed[0];
      return messages.map((message) => results.get(message)!);
    },
    fetch: async (request) => (await polls()).fetch(request),
    reapExpired: async () => 0, // SQS does it itself
    ack: (acks) => settling.ack(acks.map(({ lease }) => lease)),
    nack: settling.nack,
    abandon: settling.abandon,
    renew: settling.renew,
    admin: {
      stats: async (queue) => (await import('./sqs/dead-letters.ts')).statsOf(connection, queue),
      deadLetters: {
        list: async (filter) => (await letters()).list(filter),
        retry: async (ids) => (await letters()).retry(ids),
        discard: async (ids) => (await letters()).discard(ids),
      },
      peek: () => refuse('peek: whoever looks at a message takes it, and that counts as an attempt'),
      clear: () => refuse('clear a queue and leave what is running. Purge it in the AWS console'),
      pause: () => refuse('pause. Stop its workers, or disable the event source mapping of its function'),
      resume: () => refuse('pause, so there is nothing to resume'),
    },
    async close() {
      await (await polling)?.close();
      await connection.close();
    },
  };
}

async function refuse(what: string): Promise<never> {
  throw config(`SQS cannot ${what}.`);
}
