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
    cancel: "The schedule goes on, even with `overlap: 'skip'`: a cancelled job has ended.",
    remove: "The schedule goes on, even with `overlap: 'skip'`: a removed job has ended.",
    clear: 'The schedule goes on. Runs whose jobs were cleared are not repeated.',
    purge: 'No run comes twice: the progress of a schedule is kept in the key store, not in records.',
    retention: 'No run comes twice: the progress of a schedule is kept in the key store, not in records.',
    'a store that is away':
      'The tick fails (`schedule.failed`), and the next one catches up as `missed` says.',
    'a sender that is frozen':
      'A host that stops during a tick blocks the others for 15 s. The runs of that time come late, whatever `missed` says.',
    'a worker that is killed':
      "With `overlap: 'skip'` no run starts until another attempt has ended the job.",
    'a second delivery': 'The due time is the idempotency key of the job, so each run has one effect.',
    "a step of the host's clock":
      'Postgres and Redis supply the time. Elsewhere runs start early, each once.',
    move: {
      refuses: 'CONFLICT',
      means:
        'Nothing moves until the target has each schedule that was made at run time, unless `--queue` limits the move. The progress of schedules stays behind.',
    },
    'a late relay of an outbox': "A job in the outbox counts as on its way: `overlap: 'skip'` waits for it.",
    failover:
      'A schedule waits for the first backend, which keeps its progress. If the keys are in another store, it goes on.',
    'a process without the backend': 'The process leaves the schedules of such jobs to others.',
    'another release':
      'A schedule whose job is unknown fails with a message. It stays due, so a process that knows the job enqueues it.',
    'a transaction': 'Creating a schedule is not part of a transaction. Its jobs may run in one.',
    'another tenant over HTTP': 'The routes answer 404, or 409 when creating a schedule whose name is taken.',
    testApp: '`tick()` and `runFor()` enqueue due jobs, by the clock of the test.',
    check:
      "Schedules need nothing from a backend. Without a store `upsert()` and `overlap: 'skip'` throw `CONFIG`.",
  },
} satisfies Crossings;
