/** All operations, by the groups and methods of the operator. The surfaces make their routes and commands from it. */

import { batches } from './batches.ts';
import { chains } from './chains.ts';
import { deadLetters } from './dead-letters.ts';
import { jobs } from './jobs.ts';
import { limits } from './limits.ts';
import { alerts, queues, workers } from './queues.ts';
import { events, schedules } from './schedules.ts';

export const operations = {
  ...{ deadLetters, jobs, limits, batches, chains, queues, schedules, events, alerts, workers },
};
