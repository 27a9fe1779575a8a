import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Log lines of a job',
  page: 'lifecycle',
  on: {
    ...asTheJob(
      'update',
      'promote',
      'a store that is away',
      'a sender that is frozen',
      'a second delivery',
      "a step of the host's clock",
      'a late relay of an outbox',
      'failover',
      'a process without the backend',
      'another release',
      'testApp',
    ),
    cancel: 'The lines of an attempt that ran are kept with its end.',
    remove: 'They go with the record.',
    clear: 'They go with the record.',
    purge: 'They go with the record.',
    retention: 'They go with the record.',
    'retry of a dead letter': 'The lines of the earlier attempts stay, and those of the next one are added.',
    'edit of a dead letter': 'The lines of the earlier attempts stay, and those of the next one are added.',
    'discard of a dead letter': 'They go with the record.',
    'a worker that is killed': 'The lines of its attempt are lost.',
    'a stale owner': 'The lines of its attempt are lost: it settles nothing.',
    move: 'They go along with the history of attempts, where the target can store one.',
    'a transaction': 'They are kept with the end of the attempt, also after a rollback.',
    'an isolated handler':
      'At most 1 MiB of lines is on its way to the worker. `job.warning` says when more were left out.',
    'another tenant over HTTP': 'Its routes answer 404, as for a job that does not exist.',
    check: 'It asks nothing of a backend.',
  },
} satisfies Crossings;
