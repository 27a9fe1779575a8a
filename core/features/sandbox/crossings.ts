import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Isolated jobs',
  page: 'sandbox',
  on: {
    ...asTheJob(
      'remove',
      'update',
      'promote',
      'clear',
      'purge',
      'retention',
      'retry of a dead letter',
      'edit of a dead letter',
      'discard of a dead letter',
      'a store that is away',
      'a sender that is frozen',
      'a second delivery',
      "a step of the host's clock",
      'move',
      'a late relay of an outbox',
      'failover',
      'a process without the backend',
      'another tenant over HTTP',
    ),
    cancel: '`ctx.signal` aborts in the isolate. The isolate is killed 500 ms later.',
    'a worker that is killed':
      'Its processes notice within half a second and end themselves, even when they are blocked.',
    'a stale owner': 'The isolate is ended, as on a cancel.',
    'another release':
      'The file is read when an isolate starts. Replace it under a running worker only if the old and the new version work together.',
    'a transaction': {
      refuses: 'CONFIG',
      means: '`transaction` and `isolate` are refused together: a transaction cannot leave its process.',
    },
    'an isolated handler':
      'The handler runs in a thread or process, which is reused for the next job of the same module.',
    testApp: 'The handler runs in its isolate, which takes real time.',
    check:
      'Isolation needs nothing from a backend. A function bundle cannot run isolated jobs: the attempt fails with `CONFIG`.',
  },
} satisfies Crossings;
