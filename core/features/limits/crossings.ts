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
      'A waiting job leaves its lines at once. A running job frees its slot when its attempt ends, and the next job in line is woken.',
    remove: 'The job leaves its lines at once.',
    update: 'The job asks for the limits of its new payload when its turn comes.',
    promote: 'The job asks for its slots now, and keeps waiting if none is free.',
    clear: 'The jobs leave their lines, or are skipped when their turn comes.',
    'retry of a dead letter':
      'The job asks for slots like a new job. A rate also counts its earlier attempts.',
    'edit of a dead letter':
      'The job asks for the slots of its new payload. A rate also counts its earlier attempts.',
    'discard of a dead letter':
      'There is nothing to free: a job gives its slots back when it becomes a dead letter.',
    'a store that is away':
      'Jobs with limits wait; they never run unlimited. A pause that the worker already knew stays in force.',
    'a worker that is killed':
      'Its slots end with its lease. Every 5 seconds the leading worker checks the lines and wakes the jobs that have a free slot.',
    'a stale owner': 'The stale worker cannot free a slot that another job has taken meanwhile.',
    "a step of the host's clock":
      'Postgres and Redis count by their own clock. Elsewhere slots, rates and open breakers end early.',
    move: {
      refuses: 'CONFLICT',
      means:
        'Nothing moves while a job is paused at the source and not at the target. Slots, lines and breakers start fresh at the target.',
    },
    failover: 'Each backend counts for itself, so twice as many jobs may run.',
    'another release': 'The smaller limit counts, and each release gets the event `backend.warning` once.',
    'a transaction': 'The slot is taken before the transaction begins, and given back after it ends.',
    'another tenant over HTTP':
      'A limit counts the jobs of all tenants, unless its `key` contains the tenant.',
    testApp:
      'Rates and breakers use the clock of the test. `drain()` runs one job at a time, so a concurrency limit is never reached.',
    check: {
      refuses: 'CONFIG',
      means:
        'The check names each limit that the store cannot count, and each breaker without a store for limits.',
    },
  },
} satisfies Crossings;
