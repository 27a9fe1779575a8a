import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Steps, sleeps and waits',
  page: 'steps',
  on: {
    ...asTheJob('a sender that is frozen', 'a late relay of an outbox', 'failover'),
    cancel: 'Stored steps are deleted, and a sleep or a wait ends.',
    remove: 'Stored steps are deleted, and a sleep or a wait ends.',
    update: 'Finished steps stay. The rest of the handler sees the new payload.',
    promote: 'The handler is called again. A sleep or wait that is not over continues.',
    clear: 'The steps stay in the store, and are deleted 100 to 110 days after their last change.',
    purge:
      'The steps of a dead letter stay in the store, and are deleted 100 to 110 days after their last change.',
    retention:
      'The steps of a dead letter outlive it by at most 110 days. With a `deadMs` of 0 they are deleted when the job dies.',
    'retry of a dead letter': 'The job continues after its last finished step.',
    'edit of a dead letter': 'The job continues after its last finished step, with the new payload.',
    'discard of a dead letter':
      'The steps stay in the store, and are deleted 100 to 110 days after their last change.',
    'a store that is away':
      'The attempt fails and is retried. A step whose result could not be written runs again.',
    'a worker that is killed': 'The step that was running runs again. Finished steps do not.',
    'a stale owner':
      'The stale worker cannot write a step: its attempt ends, and the owner of the lease goes on.',
    'a second delivery':
      'A copy that runs beside the job sees its steps. A copy that arrives after the job has ended starts over, unless the job has an idempotency key.',
    "a step of the host's clock": 'Sleeps and timeouts use the clock of the host, and end early.',
    move: 'The steps move too, signed again, if both backends store steps themselves. If not, the job stays.',
    'a process without the backend': 'Its `emit` reaches only jobs on the backends that it uses.',
    'another release':
      'A step with another name is a new step. `job.warning` names stored steps that the handler did not ask for.',
    'a transaction': {
      refuses: 'CONFIG',
      means:
        'A job with `transaction: true` has no steps: its first step fails. On Postgres a step with `{ transaction: true }` commits its writes with its result.',
    },
    'an isolated handler':
      'Steps run in the isolate, and the worker stores their results. `{ transaction: true }` is refused there with `CONFIG`.',
    'another tenant over HTTP':
      "An event reaches only waits of the credential's tenant, and cannot be kept for later waits.",
    testApp: 'Sleeps and timeouts end when the test moves the clock.',
    check:
      'Steps need nothing from the queue. Without a store for steps, the first step fails with `CONFIG`.',
  },
} satisfies Crossings;
