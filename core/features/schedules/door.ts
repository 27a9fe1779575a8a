/** Loaded with the first tick, or the first call for schedules made at run time. */

export { enqueueSchedules, enqueueStored } from './stored/tick.ts';
export { storedVerbs } from './stored/verbs.ts';
