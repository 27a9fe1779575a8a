/** Batches in the table. Loaded with the first batch. */

import type { Clock } from '../../../core/base/clock.ts';
import type { BatchStore } from '../../../core/contract/batches.ts';
import { batchStore } from '../../../core/kit/records/batches.ts';
import type { Table } from './api.ts';
import { tableTexts } from './texts.ts';

export const tableBatches = (table: Table, clock: Clock): BatchStore =>
  batchStore(tableTexts(table, 'batch'), clock);
