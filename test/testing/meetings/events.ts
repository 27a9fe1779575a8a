/** The happenings in a world, by event. An event without an entry does not compile. */

import type { Event } from '../../../core/features/crossings.ts';
import type { Happening } from './event.ts';
import * as faults from './events-faults.ts';
import * as others from './events-others.ts';
import * as people from './events-people.ts';
import * as places from './events-places.ts';

export const happenings = {
  cancel: people.cancel,
  remove: people.remove,
  update: people.update,
  promote: people.promote,
  clear: people.clear,
  purge: people.purge,
  retention: people.retention,
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
  'a transaction': places.inTransaction,
  'an isolated handler': places.isolatedHandler,
  'another tenant over HTTP': others.otherTenant,
  testApp: places.inATest,
  check: places.checked,
} satisfies Readonly<Record<Event, Happening>>;
