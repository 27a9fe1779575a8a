/** What is part of every job, and so is no feature of the table. */

import { asTheJob, type Crossings } from './crossings.ts';

export const jobs = {
  title: 'Jobs',
  page: 'lifecycle',
  on: {
    cancel:
      'One that waits ends as `cancelled` at once. One that runs hears of it within about a second, and its attempt ends; if it succeeds before that, it is done.',
    remove:
      'The job is gone, and its record with it. One that runs or has ended stays, and the call answers `false`.',
    update:
      'It keeps its id and its attempts, and runs with the old text or with the new one, never with both. With another time its expiry is counted anew.',
    promote: 'It runs now, also where it was delayed or waits for its next attempt.',
    clear:
      'All jobs of the queue that wait are gone: ready, delayed and between two attempts. Those that run go on.',
    purge: 'Only records of jobs that have ended go. `result()` rejects with `NOT_FOUND` afterwards.',
    retention: 'The record goes, and a dead letter with it. `retention` of the job says when.',
    'retry of a dead letter':
      'It is ready again under its id, with all its attempts. One that has expired is refused until it gets another expiry.',
    'edit of a dead letter':
      'The new payload is checked by the schema and signed, and the job is ready again under its id.',
    'discard of a dead letter': 'Message and record are gone for good.',
    'a store that is away':
      '`enqueue` throws `BACKEND`. An attempt that cannot be settled comes back when its lease is over, so its handler may run again.',
    'a sender that is frozen':
      'The job is sent once or not at all. A call that is made again makes another job, unless it is unique or has an idempotency key.',
    'a worker that is killed':
      'The job is ready again when the lease is over, and the attempt is spent. If it was the last one, the job is a dead letter (`crash-loop`).',
    'a stale owner':
      'It settles nothing: its token is not the current one. Its handler may have run beside the next attempt.',
    'a second delivery':
      'SQLite, Postgres, Redis and memory drop a second copy of an id. Elsewhere both run, unless the job has an idempotency key.',
    "a step of the host's clock":
      'Postgres and Redis go by their own clock. Elsewhere jobs come due, expire and lose their leases early.',
    move: 'It goes along when it waits or is a dead letter, with its id, attempts, priority, time and text. One that runs is not touched.',
    'a late relay of an outbox':
      'Its status is `pending`, and lists do not show it. `cancel`, `update`, `promote` and `remove` move its row first.',
    failover:
      'New jobs go to the second backend, and those that are on the first one wait for it. One whose answer was lost may be on both.',
    'a process without the backend': {
      refuses: 'CONFIG',
      means: 'The process leaves such jobs to others, and one that it is to enqueue there is refused.',
    },
    'another release':
      'A worker that does not know the job releases it again and again without spending an attempt. After `unknownJobGraceMs` it is a dead letter.',
    'a transaction':
      'It is there when the transaction commits, or never. `tx` is refused with `CONFIG` where the queue has no transactions.',
    'an isolated handler':
      'Only the handler runs there: the worker checks, renews, times out and settles the job.',
    'another tenant over HTTP': 'Its routes answer 404, as for a job that does not exist.',
    testApp: 'It runs in memory, one job after another, by a clock that the test moves.',
    check: 'It asks nothing of a backend. A delay or a size beyond its limits is refused by `enqueue`.',
  },
} satisfies Crossings;

export const groups = {
  title: 'Groups',
  page: 'groups',
  on: {
    ...asTheJob(
      'purge',
      'retention',
      'discard of a dead letter',
      'a store that is away',
      'a second delivery',
      "a step of the host's clock",
      'a process without the backend',
      'an isolated handler',
      'another tenant over HTTP',
    ),
    cancel: 'The next one of the group comes forward, also where the cancelled one was its head.',
    remove: 'The next one of the group comes forward.',
    update:
      "A head that is put off keeps its group waiting with `onRetry: 'wait'`. One in the line that is put off is passed by, and gets its old place back.",
    promote:
      'A delayed job arrives in its group now. It never passes those that are there, nor runs beside one of them.',
    clear: 'The lines of all groups of the queue are empty. A head that runs goes on.',
    'retry of a dead letter': 'It arrives anew, at the end of the line.',
    'edit of a dead letter': 'It arrives anew, at the end of the line.',
    'a sender that is frozen':
      'Senders that run at the same time decide themselves who is first: the order is that of arrival.',
    'a worker that is killed':
      "The group is held until the lease is over. With `onRetry: 'wait'` the same job is next.",
    'a stale owner': 'It frees nothing: the group belongs to the new owner.',
    move: 'The order is kept when the workers of the source are stopped. While they run, two jobs of a group may run at once, one on each side.',
    'a late relay of an outbox': 'Jobs of one group arrive in the order in which they were enqueued.',
    failover: 'The order is not kept across both backends.',
    'another release':
      'The order is a part of each message: another `order` holds for jobs that are enqueued from then on.',
    'a transaction': 'The job arrives in its group with the commit.',
    testApp:
      '`drain()` keeps the order: a job that waits for its retry holds its group until the test moves the clock.',
    check: {
      refuses: 'CONFIG',
      means:
        'Named is each queue with an `order` that the backend does not keep: SQS has `wait` alone, Service Bus `step-aside` alone, beanstalkd none.',
    },
  },
} satisfies Crossings;
