import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Payloads beside the queue',
  page: 'operations',
  on: {
    ...asTheJob(
      'promote',
      "a step of the host's clock",
      'a process without the backend',
      'another release',
      'another tenant over HTTP',
    ),
    cancel:
      'It is removed when the job ran. That of a waiting job is left to the lifecycle rule of the store.',
    remove: 'It is left to the lifecycle rule of the payload store.',
    update: 'The new payload is stored too, where it is large. The old one is left to the lifecycle rule.',
    clear: 'Those of the cleared jobs are left to the lifecycle rule of the payload store.',
    purge: 'That of a purged dead letter is left to the lifecycle rule; a done job has none any more.',
    retention:
      'That of a forgotten dead letter is left to the lifecycle rule. With a `deadMs` of 0 it goes when the job dies.',
    'retry of a dead letter': 'It was kept with the dead letter, and is loaded again.',
    'edit of a dead letter':
      'The new payload is stored too, where it is large. The old one is left to the lifecycle rule.',
    'discard of a dead letter': 'It is left to the lifecycle rule of the payload store.',
    'a store that is away':
      '`enqueue` throws before anything is sent. An attempt that cannot load it fails and is retried.',
    'a sender that is frozen':
      'It is stored before its message, so a job never lacks it. One without a message is left to the lifecycle rule.',
    'a worker that is killed': 'It is kept until an attempt has ended the job.',
    'a stale owner': 'It removes nothing: only an end that took effect does.',
    'a second delivery': 'A copy that comes when the payload is gone ends as `skipped-idempotent`.',
    move: 'The message goes along and names its payload, so both sides need the same payload store.',
    'a late relay of an outbox': 'It is stored before the row, and waits for its job.',
    failover: 'Such a job goes to the second backend only where that one has a payload store, too.',
    'a transaction': 'It is stored before the commit. After a rollback it is left to the lifecycle rule.',
    'an isolated handler': 'The worker loads it, and the isolate gets it like any other.',
    testApp: {
      refuses: 'LIMIT',
      means: "A test has no payload store: a payload beyond the queue's limit is refused.",
    },
    check:
      'It asks nothing of a backend. Without a payload store `enqueue` refuses large payloads with `LIMIT`.',
  },
} satisfies Crossings;
