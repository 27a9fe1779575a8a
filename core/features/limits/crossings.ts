import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Limits, breakers and pauses of jobs',
  page: 'limits',
  on: {
    ...asTheJob(
      'purge',
      'retention',
      'a sender that is frozen',
      'a second delivery',
      'a late relay of an outbox',
      'a process without the backend',
      'an isolated handler',
    ),
    cancel:
      'One that waits leaves its lines at once. One that runs gives its slot back with the end of its attempt, and whoever is next is woken.',
    remove: 'It leaves its lines at once.',
    update: 'It asks for the limits of the new payload when it comes again.',
    promote: 'It asks for its slots now, and waits on where there is none.',
    clear: 'The jobs leave their lines, or are passed over when their turn comes.',
    'retry of a dead letter': 'It asks for its slots like a new job. A rate counts its earlier attempts too.',
    'edit of a dead letter':
      'It asks for the slots of the new payload. A rate counts its earlier attempts too.',
    'discard of a dead letter': 'Nothing to free: a job gives its slots back when it dies.',
    'a store that is away':
      'Jobs with limits wait and are never run without. A pause that a worker knew of goes on.',
    'a worker that is killed':
      'Its slots end with its lease. All workers look at the lines every 5 seconds, and wake the jobs for which one is free.',
    'a stale owner': 'It gives back no slot that another job has by now.',
    "a step of the host's clock":
      'Postgres and Redis count by their own clock. Elsewhere slots, rates and open breakers end early.',
    move: {
      refuses: 'CONFLICT',
      means:
        'Nothing moves while a job is paused at the source and not at the target. Slots, lines and breakers begin anew there.',
    },
    failover: 'Each backend counts for itself, so twice as many may run.',
    'another release': 'The smaller limit counts, and each release gets the event `backend.warning` once.',
    'a transaction': 'The slot is taken before the transaction begins, and given back when it is over.',
    'another tenant over HTTP': 'A limit counts the jobs of all tenants, unless its `key` names the tenant.',
    testApp:
      'Rates and breakers hold by the clock of the test. `drain()` runs one job at a time, so concurrency is never reached.',
    check: {
      refuses: 'CONFIG',
      means: 'Named is each limit that the store cannot count, and each breaker without a store of limits.',
    },
  },
} satisfies Crossings;
