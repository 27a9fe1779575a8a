/** Loaded with the first step, sleep, wait or event. */

export { emit } from './emit.ts';
export { sleep, step, waitFor } from './handler.ts';
export { isolatedEmit, isolatedStep } from './isolated.ts';
export { forgetSteps, hasSteps, leave as leaveSteps } from './settle.ts';
