/** Loaded with the first read of metrics. */

export { metricsOf } from './read.ts';
export { rollUp } from './roll-up.ts';
