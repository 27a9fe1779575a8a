/** A config that exports two backends, and `null` for a third. */

import { project, shopOn } from './kit.ts';

/** `greet` is on `default`; what is in queue `mail` is on `fast`. */
export const files = `{
  default: () => sqlite(import.meta.dirname + '/default.db'),
  fast: () => sqlite(import.meta.dirname + '/fast.db'),
  other: null,
}`;
export const severalOn = (backends: string): string =>
  shopOn(backends).replace('jobs: [greet, send, slow],', '$& queues: { mail: { backend: "fast" } },');
export const several = (backends = files) => project({ 'longshore.config.ts': severalOn(backends) });
