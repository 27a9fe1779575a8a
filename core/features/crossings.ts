/**
 * Says in plain words how each event affects each feature. Every feature has a `crossings.ts` in its folder, and all-crossings.ts joins them.
 * The docs, the build of the dashboard's page and tests read them; no app loads them.
 */

import type { ErrorCode } from '../base/errors.ts';

/** The events that can affect a feature. */
export const events = {
  cancel: 'a job is cancelled',
  remove: 'a waiting job is removed, without a record',
  update: 'a waiting job gets another payload, priority or time',
  promote: 'a waiting job is promoted, to run now',
  clear: 'a queue is cleared',
  purge: 'records of ended jobs are purged by hand',
  retention: 'the retention time of an ended job is over',
  'retry of a dead letter': 'a dead letter is made ready again',
  'edit of a dead letter': 'a dead letter is made ready again with another payload',
  'discard of a dead letter': 'a dead letter is removed for good',
  'a store that is away': 'the queue or a store beside it does not answer',
  'a sender that is frozen': 'the process that enqueues freezes or dies half-way',
  'a worker that is killed': 'a worker dies while it runs a job',
  'a stale owner': 'a worker wakes up after another worker has taken over its job',
  'a second delivery': 'the queue stores or delivers a message twice',
  "a step of the host's clock": 'the clock of the host jumps forward',
  move: '`longshore move` takes the backlog to another backend',
  'a late relay of an outbox': 'jobs are in the outbox, and no relay runs',
  failover: 'the first backend does not answer, and jobs go to the second one',
  'a process without the backend': 'a process of the app does not use the backend of the job',
  'another release': 'workers of a release with other jobs take from the same queue',
  'a transaction': 'a job is enqueued in a transaction (`tx`), or runs in one (`transaction: true`)',
  'an isolated handler': 'the handler runs in a thread or process of its own (`isolate`)',
  'another tenant over HTTP': 'a credential of another tenant asks for the job',
  testApp: 'the app runs in a test, on `testApp()`',
  check: '`longshore check` and `connect()` compare the app with the abilities of a backend',
} as const;

export type Event = keyof typeof events;

/** One or more sentences on what happens to the feature. `refuses` is the code of the error, if the call is refused. */
export type Crossing = string | { readonly refuses: ErrorCode; readonly means: string };

export interface Crossings {
  /** The heading of its table in docs/crossings.md. */
  readonly title: string;
  /** Its page, without `.md`. */
  readonly page: string;
  readonly on: Readonly<Record<Event, Crossing>>;
}

export const nothingOfItsOwn = "nothing special: the job's state decides";

/** For events that do not affect the feature beyond the job itself. */
export const asTheJob = <Name extends Event>(...names: readonly Name[]): Readonly<Record<Name, string>> =>
  Object.fromEntries(names.map((name) => [name, nothingOfItsOwn])) as Record<Name, string>;
