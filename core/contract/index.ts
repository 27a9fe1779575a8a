/** All seams, for authors of backends and stores. */

export type { Outcome } from '../base/events.ts';
export type { AttemptError } from '../base/failure.ts';
export type * from './admin.ts';
export type * from './audit.ts';
export type * from './batches.ts';
export type * from './diagnosis.ts';
export type * from './facts.ts';
export type * from './foreign.ts';
export type * from './limits.ts';
export type * from './metrics.ts';
export type * from './outcome.ts';
export type * from './queue.ts';
export type * from './schedules.ts';
export type * from './steps.ts';
export type * from './store.ts';
export type * from './texts.ts';
export type * from './waiting.ts';
