/**
 * What an event means for a feature, in words for people. Each feature answers for each event in a `crossings.ts` of its folder, and all-crossings.ts joins them.
 * The docs, the build of the dashboard's page and tests read them; no app loads them.
 */

import type { ErrorCode } from '../base/errors.ts';

/** What may come across a feature. */
export const events = {
  cancel: 'a job is cancelled',
  remove: 'a waiting job is removed, without a record',
  update: 'a waiting job gets another payload, priority or time',
  promote: 'a waiting job is to run now',
  clear: 'a queue is cleared',
  purge: 'records of ended jobs are purged by hand',
  retention: 'the record of an ended job is past its time',
  'retry of a dead letter': 'a dead letter is made ready again',
  'edit of a dead letter': 'a dead letter is made ready again with another payload',
  'discard of a dead letter': 'a dead letter is removed for good',
  'a store that is away': 'the queue or a store beside it does not answer',
  'a sender that is frozen': 'the process that enqueues stands still or dies half-way',
  'a worker that is killed': 'a worker dies while it runs a job',
  'a stale owner': 'a worker wakes up after another one got its job',
  'a second delivery': 'the queue stores or delivers a message twice',
  "a step of the host's clock": 'the clock of the host is put forward',
  move: '`longshore move` takes the backlog to another backend',
  'a late relay of an outbox': 'jobs are in the outbox, and no relay runs',
  failover: 'the first backend does not answer, and jobs go to the second one',
  'a process without the backend': 'a process of the app does not use the backend of the job',
  'another release': 'workers of a release with other jobs take from the same queue',
  'a transaction': 'a job is enqueued in a transaction (`tx`), or runs in one (`transaction: true`)',
  'an isolated handler': 'the handler runs in a thread or process of its own (`isolate`)',
  'another tenant over HTTP': 'a credential of another tenant asks for it',
  testApp: 'the app runs in a test, on `testApp()`',
  check: '`longshore check` and `connect()` look at what a backend can do',
} as const;

export type Event = keyof typeof events;

/** A sentence that says what happens to the feature. With a code it is refused. */
export type Crossing = string | { readonly refuses: ErrorCode; readonly means: string };

export interface Crossings {
  /** The heading of its table in docs/crossings.md. */
  readonly title: string;
  /** Its page, without `.md`. */
  readonly page: string;
  readonly on: Readonly<Record<Event, Crossing>>;
}

export const nothingOfItsOwn = "nothing of its own: the job's state decides";

/** For events that a feature has no answer of its own to. */
export const asTheJob = <Name extends Event>(...names: readonly Name[]): Readonly<Record<Name, string>> =>
  Object.fromEntries(names.map((name) => [name, nothingOfItsOwn])) as Record<Name, string>;
