/** Code for calls that use several backends. Loaded with the first such call. */

export { sendBatch } from '../features/batches/send.ts';
export { sendChain } from '../features/chains/send.ts';
export { metricsOf } from '../features/metrics/read.ts';
export { emit } from '../features/steps/emit.ts';
export { resultOf } from '../kernel/enqueue/result.ts';
export { watchJob } from '../kernel/enqueue/watch.ts';
