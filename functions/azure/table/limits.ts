/** Slots of limits in the table. Loaded with the first job that has a limit. */

import type { Clock } from '../../../core/base/clock.ts';
import type { LimitStore } from '../../../core/contract/limits.ts';
import { limitStore } from '../../../core/kit/records/limits.ts';
import type { Table } from './api.ts';
import { tableTexts } from './texts.ts';

/** All of them are written with every change of the key. */
const mostWaiters = 250;

export const tableLimits = (table: Table, clock: Clock): LimitStore =>
  limitStore({ ...tableTexts(table, 'limit'), mostWaiters }, clock);
