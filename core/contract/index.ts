/** All seams, for authors of backends and stores. */

export type { Outcome } from '../base/events.ts';
export type { AttemptError } from '../base/failure.ts';
export type * from './admin.ts';
export type * from './derived/audit.ts';
export type * from './derived/batches.ts';
export type * from './derived/limits.ts';
export type * from './derived/metrics.ts';
export type * from './derived/schedules.ts';
export type * from './derived/steps.ts';
export type * from './diagnosis.ts';
export type * from './foreign.ts';
export type * from './outcome.ts';
export type * from './queue.ts';
export type * from './store.ts';
export type * from './texts.ts';
