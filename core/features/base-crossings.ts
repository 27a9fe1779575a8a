/** Answers for jobs and groups. Every app has them, so they are not features of the table. */

import { asTheJob, type Crossings } from './crossings.ts';

export const jobs = {
  title: 'Jobs',
  page: 'lifecycle',
  on: {
    cancel:
      'A waiting job ends as `cancelled` at once. A running job gets the signal within about a second and its attempt ends. If it succeeds first, it counts as done.',
    remove:
      'A waiting job is deleted together with its record. A job that runs or has ended stays, and the call answers `false`.',
    update:
      'The job keeps its id and its attempts. It runs with the old payload or the new one, never a mix. With a new time, its expiry starts again.',
    promote: 'The job runs now, even if it was delayed or was waiting for its next attempt.',
    clear:
      'All waiting jobs of the queue are deleted: ready, delayed and between two attempts. Running jobs go on.',
    purge: 'Only records of ended jobs are deleted. Afterwards `result()` rejects with `NOT_FOUND`.',
    retention: 'The record is deleted, and a dead letter with it. `retention` of the job sets the time.',
    'retry of a dead letter':
      'The job is ready again under the same id, with its full number of attempts. An expired job is refused until it gets a new expiry.',
    'edit of a dead letter':
      'The new payload is checked against the schema and signed. The job is then ready again under the same id.',
    'discard of a dead letter': 'The message and the record are deleted for good.',
    'a store that is away':
      '`enqueue` throws `BACKEND`. An attempt that cannot be settled comes back when its lease ends, so the handler may run again.',
    'a sender that is frozen':
      'The job is sent once or not at all. Repeating the call makes another job, unless the job is unique or has an idempotency key.',
    'a worker that is killed':
      'The job is ready again when the lease ends, and the attempt is spent. After the last attempt the job becomes a dead letter (`crash-loop`).',
    'a stale owner':
      'The stale worker settles nothing, because its lease token is out of date. Its handler may have run beside the next attempt.',
    'a second delivery':
      'SQLite, Postgres, Redis and memory drop a second copy of an id. On other backends both copies run, unless the job has an idempotency key.',
    "a step of the host's clock":
      'Postgres and Redis use their own clock. On other backends jobs come due, expire and lose their leases early.',
    move: 'Waiting jobs and dead letters move, with their id, attempts, priority, time and payload. A running job is not touched.',
    'a late relay of an outbox':
      'The status of the job is `pending`, and lists do not show it. `cancel`, `update`, `promote` and `remove` first move its row to the queue.',
    failover:
      'New jobs go to the second backend. Jobs on the first one wait until it is back. If an answer was lost, the job may be on both.',
    'a process without the backend': {
      refuses: 'CONFIG',
      means: 'The process leaves such jobs to others, and cannot enqueue them.',
    },
    'another release':
      'A worker that does not know the job keeps releasing it without spending an attempt. After `unknownJobGraceMs` the job becomes a dead letter.',
    'a transaction':
      'The job exists once the transaction commits, and never if it rolls back. `tx` is refused with `CONFIG` where the queue has no transactions.',
    'an isolated handler':
      'Only the handler runs in the isolate. The worker checks, renews, times out and settles the job.',
    'another tenant over HTTP': 'The routes of the job answer 404, as for a job that does not exist.',
    testApp: 'Jobs run in memory, one after another, by a clock that the test moves.',
    check:
      "Jobs need nothing special from a backend. `enqueue` refuses a delay or a size beyond the backend's limits.",
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
    cancel: 'The next job of the group moves up, even if the cancelled job was the head.',
    remove: 'The next job of the group moves up.',
    update:
      "With `onRetry: 'wait'`, a head that gets a later time holds up its group. A job in the line that gets a later time is overtaken, and gets its old place back when it is due.",
    promote:
      'A delayed job joins the line of its group now. It never overtakes jobs in the line, and never runs beside one of them.',
    clear: 'The lines of all groups in the queue are emptied. A head that runs goes on.',
    'retry of a dead letter': 'The job joins the end of the line again.',
    'edit of a dead letter': 'The job joins the end of the line again.',
    'a sender that is frozen':
      'Jobs run in the order in which they reach the queue. Senders that run at the same time race for it.',
    'a worker that is killed':
      "The group is held until the lease ends. With `onRetry: 'wait'` the same job runs next.",
    'a stale owner': 'The stale worker does not free the group, which belongs to the new owner.',
    move: 'The order is kept if the workers of the source are stopped. While they run, two jobs of a group may run at once, one on each side.',
    'a late relay of an outbox': 'Jobs of a group reach the queue in the order in which they were enqueued.',
    failover: 'The order is not kept across the two backends.',
    'another release':
      'Each message carries its order, so a changed `order` holds for jobs that are enqueued from then on.',
    'a transaction': 'The job joins its group with the commit.',
    testApp:
      '`drain()` keeps the order: a job that waits for its retry holds its group until the test moves the clock.',
    check: {
      refuses: 'CONFIG',
      means:
        'The check names each queue with an `order` that the backend does not keep. SQS has only `wait`, Service Bus only `step-aside`, beanstalkd none.',
    },
  },
} satisfies Crossings;
