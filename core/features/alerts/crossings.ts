import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Alerts',
  page: 'alerts',
  on: {
    ...asTheJob(
      'cancel',
      'remove',
      'update',
      'promote',
      'clear',
      'purge',
      'retention',
      'edit of a dead letter',
      'a sender that is frozen',
      'a second delivery',
      'a late relay of an outbox',
      'failover',
      'a transaction',
      'an isolated handler',
    ),
    'retry of a dead letter': 'An alert about dead letters ends with the next look that finds fewer.',
    'discard of a dead letter': 'An alert about dead letters ends with the next look that finds fewer.',
    'a store that is away':
      '`BackendDown` fires, and what fires already goes on: nothing ends because it cannot be read.',
    'a worker that is killed':
      'The next look is that of another worker. A message that was sent and not noted is sent again.',
    'a stale owner': 'A host that stood still sends nothing that another one has sent.',
    "a step of the host's clock":
      'Postgres and Redis say the time. Elsewhere the looks of a host that is ahead by a minute or more end none of the others.',
    move: 'What fires at the source is not known at the target: conditions begin their time anew.',
    'a process without the backend': 'The workers of each backend look at its queues and schedules.',
    'another release':
      'The rules are those of the release that looks. Two apps with one store need two names of their alerts.',
    'another tenant over HTTP': 'No route shows alerts.',
    testApp: 'Nothing is looked at: a test has no worker.',
    check: 'It asks nothing of a backend. What a backend cannot tell is the event `alert.unavailable`.',
  },
} satisfies Crossings;
