/** Batches in the table. Loaded with the first batch. */

import type { Clock } from '../../../core/base/clock.ts';
import type { BatchStore } from '../../../core/contract/batches.ts';
import { batchStore } from '../../../core/kit/records/batches.ts';
import type { Dynamo } from './api.ts';
import { dynamoTexts } from './texts.ts';

export const dynamoBatches = (dynamo: Dynamo, clock: Clock): BatchStore =>
  batchStore(dynamoTexts(dynamo, 'batch', 'lo'), clock);
