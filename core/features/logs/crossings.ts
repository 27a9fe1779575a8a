import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Job logs',
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
    cancel: 'The lines of a cancelled attempt are kept.',
    remove: 'The lines are deleted with the record.',
    clear: 'The lines are deleted with the record.',
    purge: 'The lines are deleted with the record.',
    retention: 'The lines are deleted with the record.',
    'retry of a dead letter': 'The lines of earlier attempts stay, and the next attempt adds its own.',
    'edit of a dead letter': 'The lines of earlier attempts stay, and the next attempt adds its own.',
    'discard of a dead letter': 'The lines are deleted with the record.',
    'a worker that is killed': 'The lines of its attempt are lost.',
    'a stale owner': 'The lines of the stale attempt are lost, because it settles nothing.',
    move: 'The lines move with the history of attempts, if the target can store one.',
    'a transaction': 'The lines are kept with the end of the attempt, even after a rollback.',
    'an isolated handler':
      'At most 1 MiB of lines is on its way to the worker. `job.warning` says when further lines were dropped.',
    'another tenant over HTTP': 'The routes answer 404, as for a job that does not exist.',
    check: 'Log lines need nothing from a backend.',
  },
} satisfies Crossings;
