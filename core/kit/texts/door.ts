/** Loaded with the first use of a store that is made of texts. */

export { batchStore } from '../records/batches.ts';
export { limitStore } from '../records/limits.ts';
export { textAudit } from './audit.ts';
export { textMetrics } from './metrics.ts';
export { textSchedules } from './schedules.ts';
