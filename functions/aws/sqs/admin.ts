/** What the CLI and the dashboard ask of SQS, and whether a queue can do what it has to. */

import { config } from '../../../core/base/errors.ts';
import type { QueueAdmin, QueueStats } from '../../../core/contract/admin.ts';
import { checkQueue } from './check.ts';
import type { Connection } from './connection.ts';
import { deadLettersOf } from './dead-letters.ts';
import { sqsDiagnosis } from './diagnose.ts';

export interface Admin extends Required<Omit<QueueAdmin, 'know' | 'probe' | 'statsScanMessages'>> {
  checkQueue(queue: string): Promise<unknown>;
}

export function adminOf(connection: Connection): Admin {
  return {
    checkQueue: (queue) => checkQueue(connection, queue),
    diagnose: async (request) => sqsDiagnosis(connection, request),
    async check(needsOf) {
      const advice: string[] = [];
      for (const { name } of connection.queues.all()) {
        advice.push(...(await checkQueue(connection, name, needsOf(name))));
      }
      return advice;
    },
    stats: (queue) => statsOf(connection, queue),
    deadLetters: deadLettersOf(connection),
    peek: () => refuse('peek: looking at a message leases it, and that counts as an attempt'),
    clear: () =>
      refuse(
        'clear a queue and leave what is running. Cancel its jobs; purging it in the AWS console leaves their records pending',
      ),
    setPaused: (_, isPaused) =>
      refuse(
        isPaused
          ? 'pause. Stop its workers, or disable the event source mapping of its function'
          : 'pause, so there is nothing to resume',
      ),
  };
}

async function refuse(what: string): Promise<never> {
  throw config(`SQS cannot ${what}.`);
}

/** How many messages each queue has, over all its lanes, as far as SQS knows. */
async function statsOf(connection: Connection, only?: string): Promise<QueueStats[]> {
  const api = await connection.api();
  const addresses = only === undefined ? connection.queues.all() : [connection.addressOf(only)];
  return Promise.all(
    addresses.map(async ({ name, deadLetterUrl }) => {
      const [dead, ...lanes] = await Promise.all([
        connection.call(`counting the dead letters of queue "${name}" at ${deadLetterUrl}`, () =>
          api.attributes(deadLetterUrl, ['ApproximateNumberOfMessages']),
        ),
        ...connection.queues
          .lanesOf(name)
          .map(({ url }) =>
            connection.call(`counting the messages of queue "${name}" at ${url}`, () =>
              api.attributes(url, [
                'ApproximateNumberOfMessages',
                'ApproximateNumberOfMessagesDelayed',
                'ApproximateNumberOfMessagesNotVisible',
              ]),
            ),
          ),
      ]);
      const sum = (attribute: keyof (typeof lanes)[number]): number =>
        lanes.reduce((total, lane) => total + Number(lane[attribute] ?? 0), 0);
      return {
        queue: name,
        ready: sum('ApproximateNumberOfMessages'),
        // What waits for its retry is hidden like what runs: SQS counts both as not visible.
        delayed: sum('ApproximateNumberOfMessagesDelayed'),
        leased: sum('ApproximateNumberOfMessagesNotVisible'),
        dead: Number(dead.ApproximateNumberOfMessages ?? 0),
        paused: false,
        oldestReadyMs: null,
      };
    }),
  );
}
