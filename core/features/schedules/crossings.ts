import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Schedules',
  page: 'lifecycle',
  on: {
    ...asTheJob(
      'update',
      'promote',
      'retry of a dead letter',
      'edit of a dead letter',
      'discard of a dead letter',
      'a stale owner',
      'an isolated handler',
    ),
    cancel: "The next moments come as ever, with `overlap: 'skip'` too: a cancelled job has ended.",
    remove: "The next moments come as ever, with `overlap: 'skip'` too: a removed job has ended.",
    clear: 'The next moments come as ever. Those whose jobs were cleared do not come again.',
    purge: 'No moment comes twice: where a schedule stands is kept in the keys, not in records.',
    retention: 'No moment comes twice: where a schedule stands is kept in the keys, not in records.',
    'a store that is away':
      'The tick fails (`schedule.failed`), and the next one makes up for it as `missed` says.',
    'a sender that is frozen':
      'A host that stops in a tick keeps the others out for 15 s. The moments of that time come late, whatever `missed` says.',
    'a worker that is killed':
      "With `overlap: 'skip'` no moment comes until another attempt has ended the job.",
    'a second delivery': 'The moment is the idempotency key of its job, so it has one effect.',
    "a step of the host's clock": 'Postgres and Redis say the time. Elsewhere moments come early, each once.',
    move: {
      refuses: 'CONFLICT',
      means:
        'Nothing moves until the target has each schedule that was made at run time, unless `--queue` names some queues. Where they stand stays behind.',
    },
    'a late relay of an outbox': "A job in the outbox is on its way: `overlap: 'skip'` waits for it.",
    failover:
      'A schedule waits for the first backend, which keeps where it stands. With keys elsewhere it goes on.',
    'a process without the backend': 'It leaves schedules of such jobs to the others.',
    'another release':
      'A schedule whose job is gone fails in words. It stays due, so a process that has the job enqueues it.',
    'a transaction': 'Making one is not part of a transaction. Its jobs may run in one.',
    'another tenant over HTTP': 'Its routes answer 404, and 409 where the name is to be made.',
    testApp: '`tick()` and `runFor()` enqueue what is due by the clock of the test.',
    check: "It asks nothing of a backend. Without a store `upsert()` and `overlap: 'skip'` throw `CONFIG`.",
  },
} satisfies Crossings;
