/** Whether this code runs in a thread or process that was started for isolated jobs. */

import { config } from '../../base/errors.ts';

/** On the global object, because an isolate may come to load a second copy of this package. */
const mark = Symbol.for('longshore.isolate');

export function markIsolate(): void {
  Object.defineProperty(globalThis, mark, { value: true });
}

/** Whether this code runs inside an isolate; there, isolated jobs run plainly. */
export function insideIsolate(): boolean {
  return mark in globalThis;
}

/** Called where a worker starts: a worker in an isolate would lease jobs and never renew or drain them. */
export function refuseInsideIsolate(what: string): void {
  if (!insideIsolate()) return;
  throw config(
    `Expected the module of an isolated job to start nothing when it is imported, but it called ${what}. Move that to a file of its own.`,
  );
}
