/** Slots of limits in the table. */

import type { Clock } from '../../../core/base/clock.ts';
import type { LimitStore } from '../../../core/contract/limits.ts';
import { limitStore, mostSlotsOfItem } from '../../../core/kit/records/limits.ts';
import type { Dynamo } from './api.ts';
import { dynamoTexts } from './texts.ts';

/** Each costs a part of every write of the key. */
const mostWaiters = 250;

/** DynamoDB takes 1,000 write units of 1 KB a second of an item. */
const mostPerSecond = (slots: number): number => Math.floor(1_000 / Math.ceil((slots * slotBytes) / 1_024));
const slotBytes = 150;

/** Only keys are listed, and not the jobs that wait for them. */
export const dynamoLimits = (dynamo: Dynamo, clock: Clock): LimitStore => ({
  ...limitStore({ ...dynamoTexts(dynamo, 'limit', 'k'), mostWaiters }, clock),
  mostSlots: mostSlotsOfItem,
  mostPerSecond,
});
