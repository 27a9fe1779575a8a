/** Slots of limits in the table. Loaded with the first job that has a limit. */

import type { Clock } from '../../../core/base/clock.ts';
import type { LimitStore } from '../../../core/contract/limits.ts';
import { limitStore } from '../../../core/kit/records/limits.ts';
import type { Dynamo } from './api.ts';
import { dynamoTexts } from './texts.ts';

/** Each costs a part of every write of the key. */
const mostWaiters = 250;

/** Only keys are listed, and not the jobs that wait for them. */
export const dynamoLimits = (dynamo: Dynamo, clock: Clock): LimitStore =>
  limitStore({ ...dynamoTexts(dynamo, 'limit', 'k'), mostWaiters }, clock);
