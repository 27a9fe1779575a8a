/** What the CLI and the dashboard ask of SQS. */

import { config } from '../../../core/base/errors.ts';
import type { QueueAdmin } from '../../../core/contract/admin.ts';
import type { Connection } from './connection.ts';
import { deadLettersOf } from './dead-letters.ts';
import { statsOf } from './stats.ts';

export type Admin = Required<QueueAdmin>;

export function adminOf(connection: Connection): Admin {
  return {
    async know(names) {
      for (const name of names) {
        try {
          connection.addressOf(name); // behind a prefix a name is as good as a URL
        } catch {
          // Where a list of URLs is given, other queues do not exist.
        }
      }
    },
    stats: (queue) => statsOf(connection, queue),
    deadLetters: deadLettersOf(connection),
    peek: () => refuse('peek: looking at a message leases it, and that counts as an attempt'),
    clear: () => refuse('clear a queue and leave what is running. Purge it in the AWS console'),
    pause: () => refuse('pause. Stop its workers, or disable the event source mapping of its function'),
    resume: () => refuse('pause, so there is nothing to resume'),
  };
}

async function refuse(what: string): Promise<never> {
  throw config(`SQS cannot ${what}.`);
}
