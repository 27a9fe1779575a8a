/** `client.schedules`, whose code is loaded with the first of its verbs. */

import { verbsOf } from '../../base/lazy.ts';
import type { Schedules } from '../app/stored-schedule.ts';
import type { Client } from './client.ts';

const verbs = ['upsert', 'get', 'list', 'remove', 'pause', 'resume', 'runNow'] as const;

export const schedulesOf = (client: () => Client): Schedules =>
  verbsOf<Schedules>(verbs, async () =>
    (await import('../../features/schedules/stored/verbs.ts')).storedVerbs(client()),
  );
