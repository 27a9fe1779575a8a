/** How many messages a queue has, over all its lanes, as far as SQS knows. */

import type { QueueStats } from '../../../core/contract/admin.ts';
import type { Connection } from './connection.ts';

export async function statsOf(connection: Connection, only?: string): Promise<QueueStats[]> {
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
