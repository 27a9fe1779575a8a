import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Steps, sleeps and waits',
  page: 'steps',
  on: {
    ...asTheJob('a sender that is frozen', 'a late relay of an outbox', 'failover'),
    cancel: 'They are forgotten, and a sleep or a wait ends.',
    remove: 'They are forgotten, and a sleep or a wait ends.',
    update: 'Steps that are done stay, and the rest sees the new payload.',
    promote: 'The handler is called again. A sleep or a wait that is not over goes on.',
    clear: 'They are left over, and end by themselves 100 days after the last change.',
    purge: 'Steps of a dead letter outlive it, and end by themselves 100 days after the last change.',
    retention:
      'Steps of a dead letter outlive it by 100 days at most. With a `deadMs` of 0 they go when the job dies.',
    'retry of a dead letter': 'The job goes on after the last step that was done.',
    'edit of a dead letter': 'The job goes on after the last step that was done, with the new payload.',
    'discard of a dead letter': 'They are left over, and end by themselves 100 days after the last change.',
    'a store that is away':
      'The attempt fails and is retried. A step whose memory could not be written runs again.',
    'a worker that is killed': 'The step that ran runs again. Steps that are done do not.',
    'a stale owner': 'It cannot write a step: its attempt ends, and the owner of the lease goes on.',
    'a second delivery':
      'A copy that runs beside the job sees its steps. One that comes when the job has ended begins anew, unless it has an idempotency key.',
    "a step of the host's clock": 'Sleeps and timeouts go by the clock of the host, and end early.',
    move: 'They go along, signed anew, between backends that keep them themselves. Else the job stays.',
    'a process without the backend': 'Its `emit` reaches the jobs of the backends that it uses.',
    'another release':
      'A step of another name is another step. `job.warning` names those that were remembered and not asked for.',
    'a transaction': {
      refuses: 'CONFIG',
      means:
        'A job with `transaction: true` has no steps: its first step fails. A step with `{ transaction: true }` commits its writes with its memory, on Postgres.',
    },
    'an isolated handler':
      'They run in the isolate, and the worker remembers them. `{ transaction: true }` is refused there with `CONFIG`.',
    'another tenant over HTTP':
      "An event reaches only waits of the credential's tenant, and cannot be kept for later ones.",
    testApp: 'Sleeps and timeouts end when the test moves the clock.',
    check: 'It asks nothing of a backend. Without a store of steps the first step fails with `CONFIG`.',
  },
} satisfies Crossings;
