/** Loaded with the first call that reads, watches, changes or waits for a job by its id. */

export { believed } from '../../kit/records/believe.ts';
export { resultOf } from './result.ts';
export { promote, remove, update } from './waiting.ts';
export { watchJob } from './watch.ts';
