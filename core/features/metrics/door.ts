/** What is loaded with the first look at numbers. */

export { metricsOf } from './read.ts';
export { rollUp } from './roll-up.ts';
