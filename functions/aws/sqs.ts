/** Amazon SQS as a queue. It keeps no records and no keys: give `connect()`, `startWorker()` and `lambda()` a store. */

import type { JobSender, QueueAdmin, QueueBackend } from '../../core/contract.ts';
import { config } from '../../core/errors.ts';
import { checkInteger } from '../../core/job.ts';
import { onDemand, verbsOf } from '../../core/on-demand.ts';
import type { Polling } from '../../core/polling.ts';
import type { Accepting } from './sqs/accepting.ts';
import type { Admin } from './sqs/admin.ts';
import { type ConnectionOptions, createConnection } from './sqs/connection.ts';
import { longestHiddenMs, maxBodyBytes } from './sqs/limits.ts';
import type { Queues } from './sqs/queues.ts';
import type { Settling } from './sqs/settling.ts';

export interface SqsOptions extends ConnectionOptions {
  /** How long one receive call may wait, 1_000 to 20_000; `close()` waits as long for the last one. @default 5_000 */
  readonly longPollMs?: number;
}

export interface SqsBackend extends QueueBackend {
  readonly queues: Queues;
  /** Makes leases of what was received elsewhere; what is not due yet is sent on. */
  readonly accept: Accepting['accept'];
  readonly admin: QueueAdmin;
  /** Throws `CONFIG` unless these queues and their dead-letter queues exist. @default every queue configured */
  check(queues?: readonly string[]): Promise<void>;
}

/** Opens nothing before the first use, and loads each part when it is first used. */
export function sqs(options: SqsOptions): SqsBackend {
  const { longPollMs = 5_000, keys } = options;
  checkInteger('longPollMs of sqs()', longPollMs, 1_000);
  if (longPollMs > 20_000)
    throw config(`Expected longPollMs of sqs() to be at most 20000, got ${longPollMs}.`);
  const connection = createConnection(options);
  const { clock, queues } = connection;
  const uncounted = onDemand(async () =>
    keys ? (await import('./sqs/uncounted.ts')).createUncounted(keys, clock.now) : null,
  );

  const sender = onDemand(async () => {
    const { createSender } = await import('./sqs/sender.ts');
    return createSender(connection);
  });
  const settling = onDemand(async () => {
    const { createSettling } = await import('./sqs/settling.ts');
    return createSettling(connection, await uncounted());
  });
  const accepting = onDemand(async () => {
    const { createAccepting } = await import('./sqs/accepting.ts');
    return createAccepting(connection, settling, await uncounted());
  });
  const receiving = onDemand(async () => {
    const { createReceiving } = await import('./sqs/receiving.ts');
    return createReceiving(connection, await accepting());
  });
  let polling: Promise<Polling> | null = null;
  const polls = onDemand(() => {
    polling = openPolling();
    return polling;
  });
  async function openPolling(): Promise<Polling> {
    const [{ createPolling }, { mostEntries }, { createTurns }, { receive }] = await Promise.all([
      import('../../core/polling.ts'),
      import('./sqs/batches.ts'),
      import('./sqs/lanes.ts'),
      receiving(),
    ]);
    const turns = createTurns();
    return createPolling({
      clock,
      longPollMs,
      mostPerCall: mostEntries,
      mostPerPoll: mostEntries,
      placesOf: (queue) => turns.next(queues.lanesOf(queue)),
      receive,
      async handBack(leases) {
        const { nack } = await settling();
        for (const lease of leases) await nack(lease, { delayMs: 0, countAttempt: false });
      },
    });
  }
  const admin = onDemand(async () => (await import('./sqs/admin.ts')).adminOf(connection));

  return {
    name: 'sqs',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: longestHiddenMs },
    queues,
    ...verbsOf<Pick<Accepting, 'accept'>>(['accept'], accepting),
    async check(names = queues.all().map(({ name }) => name)) {
      const { check } = await receiving();
      for (const queue of names) await check(queue);
    },

    ...verbsOf<JobSender>(['enqueue'], sender),
    ...verbsOf<Pick<Polling, 'fetch'>>(['fetch'], polls),
    reapExpired: async () => 0, // SQS does it itself
    ack: async (acks) => (await settling()).ack(acks.map(({ lease }) => lease)),
    ...verbsOf<Pick<Settling, 'nack' | 'abandon' | 'renew'>>(['nack', 'abandon', 'renew'], settling),
    admin: {
      ...verbsOf<Omit<Admin, 'deadLetters'>>(['stats', 'know', 'peek', 'clear', 'pause', 'resume'], admin),
      deadLetters: verbsOf(['list', 'retry', 'discard'], async () => (await admin()).deadLetters),
    },
    async close() {
      await (await polling)?.close();
      await connection.close();
    },
  };
}
