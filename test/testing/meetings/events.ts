/** Every event that a feature has to live with. */

import type { Happening } from './event.ts';
import * as faults from './events-faults.ts';
import * as others from './events-others.ts';
import * as people from './events-people.ts';

export const happenings = {
  cancel: people.cancel,
  remove: people.remove,
  update: people.update,
  promote: people.promote,
  clear: people.clear,
  purge: people.purge,
  'retry of a dead letter': people.deadRetry,
  'edit of a dead letter': people.deadEdit,
  'discard of a dead letter': people.deadDiscard,
  'a store that is away': faults.storeAway,
  'a sender that is frozen': faults.senderFrozen,
  'a worker that is killed': faults.killedOnLastAttempt,
  'a stale owner': faults.staleOwner,
  'a second delivery': faults.deliveredTwice,
  "a step of the host's clock": faults.clockStep,
  move: others.move,
  'a late relay of an outbox': others.lateRelay,
  failover: others.failover,
  'a process without the backend': others.processWithoutBackend,
  'another release': others.otherRelease,
  'another tenant over HTTP': others.otherTenant,
  'an isolated handler': others.isolatedHandler,
  testApp: others.inATest,
} satisfies Readonly<Record<string, Happening>>;

export type EventName = keyof typeof happenings;
