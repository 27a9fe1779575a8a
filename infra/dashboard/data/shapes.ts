/** Shapes of the core that pages name. */

export type { AttemptReport, Progress } from '../../../core/contract/outcome.ts';
export type { JobRecord, StoredPayload } from '../../../core/contract/store.ts';
export type { Unavailable } from '../../../core/dashboard/api.ts';
