/** Schedules in code, and schedules created at run time. */

import { door, verbsOf } from '../../base/lazy.ts';
import type { Schedules } from '../../kernel/app/stored-schedule.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import type { Feature } from '../feature.ts';

const code = door(() => import('./stored/verbs.ts'));

const verbs = ['upsert', 'get', 'list', 'remove', 'pause', 'resume', 'runNow'] as const;

export const schedulesOf = (client: () => Client): Schedules =>
  verbsOf<Schedules>(verbs, async () => code(({ storedVerbs }) => storedVerbs(client())));

export const schedules = {
  client: (client) => ({ schedules: schedulesOf(() => client) }),
} satisfies Feature;
