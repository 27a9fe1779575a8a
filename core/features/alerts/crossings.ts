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
    'retry of a dead letter':
      'An alert about dead letters ends when the next evaluation counts few enough of them.',
    'discard of a dead letter':
      'An alert about dead letters ends when the next evaluation counts few enough of them.',
    'a store that is away':
      '`BackendDown` fires. Other alerts keep firing: no alert ends because its numbers cannot be read.',
    'a worker that is killed':
      'Another worker makes the next evaluation. A message that was sent but not recorded is sent again.',
    'a stale owner': 'A host that was frozen does not repeat messages that another host has sent.',
    "a step of the host's clock":
      'Postgres and Redis supply the time. Elsewhere a host that is ahead by a minute or more does not stop the evaluations of the others.',
    move: 'The target does not know which alerts fire at the source. Conditions start their time again.',
    'a process without the backend': 'The workers of each backend evaluate its queues and schedules.',
    'another release':
      'The rules of the release that evaluates count. Two apps that share a store need two names for their alerts.',
    'another tenant over HTTP': 'No route shows alerts.',
    testApp: 'Nothing is evaluated: a test has no worker.',
    check:
      'Alerts need nothing from a backend. The event `alert.unavailable` names what a backend cannot report.',
  },
} satisfies Crossings;
