/** Every feature against every event. A feature or a cell without an answer does not compile. */

import { crossings as alerts } from './alerts/crossings.ts';
import { groups, jobs } from './base-crossings.ts';
import { crossings as batches } from './batches/crossings.ts';
import { crossings as chains } from './chains/crossings.ts';
import type { Crossings } from './crossings.ts';
import { crossings as idempotency } from './idempotency/crossings.ts';
import { crossings as limits } from './limits/crossings.ts';
import { crossings as logs } from './logs/crossings.ts';
import { crossings as metrics } from './metrics/crossings.ts';
import { crossings as payloads } from './payloads/crossings.ts';
import { crossings as pings } from './pings/crossings.ts';
import { crossings as records } from './records/crossings.ts';
import { crossings as sandbox } from './sandbox/crossings.ts';
import { crossings as schedules } from './schedules/crossings.ts';
import { crossings as steps } from './steps/crossings.ts';
import type { FeatureName } from './table.ts';
import { crossings as transactions } from './transactions/crossings.ts';
import { crossings as unique } from './unique/crossings.ts';

/** The features of the table, and what every job has. */
export type Crossed = FeatureName | 'groups' | 'jobs';

export const crossings = {
  ...{ jobs, groups },
  ...{ transactions, limits, unique, payloads, chains, idempotency, records },
  ...{ alerts, pings, steps, batches, logs, schedules, metrics, sandbox },
} satisfies Readonly<Record<Crossed, Crossings>>;
