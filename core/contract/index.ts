/** All seams, for whoever writes a backend or a store. */

export type * from './admin.ts';
export type * from './outcome.ts';
export type * from './queue.ts';
export type * from './store.ts';
