import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Large payloads',
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
      "The payload is removed if the job ran. The payload of a waiting job is left to the store's lifecycle rule.",
    remove: 'The payload is left to the lifecycle rule of the payload store.',
    update: 'A large new payload is stored as well. The old one is left to the lifecycle rule.',
    clear: 'The payloads of the cleared jobs are left to the lifecycle rule of the payload store.',
    purge:
      'The payload of a purged dead letter is left to the lifecycle rule. A done job has no payload any more.',
    retention:
      'The payload of a deleted dead letter is left to the lifecycle rule. With a `deadMs` of 0 it is removed when the job dies.',
    'retry of a dead letter': 'The payload was kept with the dead letter, and is loaded again.',
    'edit of a dead letter':
      'A large new payload is stored as well. The old one is left to the lifecycle rule.',
    'discard of a dead letter': 'The payload is left to the lifecycle rule of the payload store.',
    'a store that is away':
      '`enqueue` throws before anything is sent. An attempt that cannot load its payload fails and is retried.',
    'a sender that is frozen':
      'The payload is stored before its message, so no job lacks its payload. A payload without a message is left to the lifecycle rule.',
    'a worker that is killed': 'The payload is kept until an attempt has ended the job.',
    'a stale owner': 'The stale worker removes nothing: only the attempt that settles the job does.',
    'a second delivery': 'A copy that arrives after the payload was removed ends as `skipped-idempotent`.',
    move: 'The message moves and names its payload, so both sides need the same payload store.',
    'a late relay of an outbox': 'The payload is stored before the row, and waits for its job.',
    failover:
      'A job with a stored payload goes to the second backend only if that one has a payload store, too.',
    'a transaction':
      'The payload is stored before the commit. After a rollback it is left to the lifecycle rule.',
    'an isolated handler': 'The worker loads the payload, and the isolate gets it like any other.',
    testApp: {
      refuses: 'LIMIT',
      means: "A test has no payload store: a payload beyond the queue's limit is refused.",
    },
    check:
      'Stored payloads need nothing from a backend. Without a payload store `enqueue` refuses large payloads with `LIMIT`.',
  },
} satisfies Crossings;
