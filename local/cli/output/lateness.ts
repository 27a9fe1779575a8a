import type { Style } from './ui.ts';

/** A job that waits longer is late, and then very late. */
const lateMs = 60_000;
const veryLateMs = 900_000;

/** How something is shown that has waited so long. */
export const lateness = (ms: number | null | undefined): Style | null =>
  ms == null || ms <= lateMs ? null : ms <= veryLateMs ? 'yellow' : 'red';
