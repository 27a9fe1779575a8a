/**
 * Settles leases. Each verb first takes the lease from the held ones, and puts it back if Service Bus cannot be reached. A released message is
 * sent as a copy, because only a new message can be scheduled and starts with a delivery count of zero. In a session a copy would come after all
 * others, so there the message itself is released.
 */

import type { JobLease, JobSettler, Nack } from '../../../core/contract/queue.ts';
import type { BusMessage, Holding } from './api.ts';
import type { Connection } from './connection.ts';
import { deadMessage, deathOf, factsOf } from './dead-letters.ts';
import { isLockLost, serviceBusError } from './errors.ts';
import { type Locks, receiptOf } from './locks.ts';
import { busMessage, copyOf, type Tags } from './message.ts';
import type { Death, Intent } from './metadata.ts';

export type Settlers = ReturnType<typeof createSettlers>;

/** How many deliveries a message that is released itself may use. Queues allow ten, and a job whose process dies needs some of them. */
const mostInPlace = 5;

export function createSettlers(connection: Connection, locks: Locks) {
  const { clock, addressOf, call, metadata } = connection;

  function sendCopy(queue: string, body: string, tags: Tags, intent: Intent): Promise<void> {
    const copy = busMessage(body, copyOf(tags, intent), intent.notBefore, clock.now());
    return sendOne(addressOf(queue).entity, copy, `sending back to queue "${queue}"`);
  }

  function sendDead(queue: string, body: string, tags: Tags, death: Death): Promise<void> {
    const { failedEntity } = addressOf(queue);
    const during = `sending to the queue of dead letters "${failedEntity}"`;
    return sendOne(failedEntity, deadMessage(body, tags, death), during);
  }

  async function sendOne(entity: string, message: BusMessage, during: string): Promise<void> {
    const [failure] = await call(during, (api) => api.send(entity, [message]));
    if (failure) throw serviceBusError(during, failure);
  }

  /** `false` = the lease has ended, here or at the broker. */
  async function settle(lease: JobLease, work: (holding: Holding) => Promise<void>): Promise<boolean> {
    const holding = locks.take(lease);
    if (!holding) return false;
    try {
      await work(holding);
      locks.forget(lease);
      return true;
    } catch (error) {
      if (isLockLost(error)) {
        locks.forget(lease);
        return false;
      }
      locks.untake(lease);
      throw serviceBusError(`settling a message of queue "${lease.queue}"`, error);
    }
  }

  const nameOf = ({ queue }: JobLease) => ({ name: addressOf(queue).entity });

  async function complete(lease: JobLease, holding: Holding): Promise<void> {
    await (await connection.api()).complete(nameOf(lease), holding);
  }

  /** `true` = the message itself may be released, and this delivery does not count. */
  async function takeBack(lease: JobLease, holding: Holding): Promise<boolean> {
    const { entity, sessions } = addressOf(lease.queue);
    if (!metadata || !sessions || !('deliveryCount' in holding)) return false;
    if ((holding.deliveryCount ?? 0) + 1 > mostInPlace) return false;
    await locks.prove(lease);
    const { tags, lockToken } = receiptOf(lease);
    return metadata.beginnings.takeBack(entity, tags, lockToken).then(
      () => true,
      () => false, // a store that cannot be reached must not cost attempts
    );
  }

  function nackWith(completes: boolean) {
    return (lease: JobLease, { delayMs, countAttempt }: Nack): Promise<boolean> =>
      settle(lease, async (holding) => {
        const { tags } = receiptOf(lease);
        const intent: Intent = {
          attempts: countAttempt ? lease.attempt : lease.attempt - 1,
          interrupted: !countAttempt && lease.interrupted,
          notBefore: delayMs > 0 ? clock.now() + delayMs : null,
        };
        if (completes && !countAttempt && delayMs <= 0 && (await takeBack(lease, holding)))
          return (await connection.api()).abandon(nameOf(lease), holding);
        await locks.prove(lease); // before there are two of it
        const noted = metadata?.intents.write(addressOf(lease.queue).entity, tags, intent);
        // Releasing a job must not spend deliveries because a store cannot be reached. If its process is killed before the message is
        // completed, there are two messages.
        await (countAttempt ? noted : noted?.catch(() => {}));
        // If a host holds the session, the next delivery may have begun meanwhile. From now on it sees the intent.
        if (!completes && addressOf(lease.queue).sessions) await locks.prove(lease);
        await sendCopy(lease.queue, lease.body, tags, intent);
        if (completes) await complete(lease, holding).catch(unlessLost);
      });
  }

  async function each<T>(items: readonly T[], work: (item: T) => Promise<boolean>): Promise<boolean[]> {
    const results = await Promise.allSettled(items.map(work));
    const failed = results.filter((result) => result.status === 'rejected');
    // If some succeed, the failed ones have had their retries: those messages come back when their locks end.
    if (failed.length > 0 && failed.length === results.length) throw failed[0]!.reason;
    return results.map((result) => result.status === 'fulfilled' && result.value);
  }

  const renewOne = (lease: JobLease, leaseMs: number): Promise<boolean> =>
    locks.renew(lease, leaseMs).catch((error: unknown) => {
      throw serviceBusError(`renewing a lock of queue "${lease.queue}"`, error);
    });

  /** A message of a session can be settled only by the process that holds the session. */
  const here = async (lease: JobLease, work: () => Promise<boolean>): Promise<boolean> =>
    !addressOf(lease.queue).sessions || locks.has(lease) ? work() : false;
  const nackHere = nackWith(true);

  /** For messages that this process fetched. */
  const own: JobSettler = {
    ack: (acks) =>
      each(acks, ({ lease }) => here(lease, () => settle(lease, (holding) => complete(lease, holding)))),
    nack: (lease, how) => here(lease, () => nackHere(lease, how)),
    abandon: (lease, why) =>
      here(lease, () =>
        settle(lease, async (holding) => {
          if (why.reason === 'cancelled') return complete(lease, holding);
          const facts = factsOf(deathOf(lease, why, clock.now()));
          await (await connection.api()).deadLetter(nameOf(lease), holding, facts);
        }),
      ),
    renew: (leases, leaseMs) => each(leases, (lease) => here(lease, () => renewOne(lease, leaseMs))),
  };
  /** For messages that a host holds. The host completes them when the function returns. */
  const pushed: JobSettler = {
    ack: (acks) => each(acks, ({ lease }) => settle(lease, async () => {})),
    nack: nackWith(false),
    abandon: (lease, why) =>
      settle(lease, async () => {
        if (why.reason === 'cancelled') return;
        const { tags } = receiptOf(lease);
        const letter = deathOf(lease, why, clock.now());
        const intent: Intent = { attempts: lease.attempt, interrupted: false, notBefore: null, letter };
        await locks.prove(lease); // before there are two of it
        await sendDead(lease.queue, lease.body, tags, letter);
        // Written afterwards, because a job whose dead letter cannot be sent must run again. If this write fails, it runs again, too.
        await metadata?.intents.write(addressOf(lease.queue).entity, tags, intent).catch(() => {});
      }),
    renew: (leases, leaseMs) => each(leases, (lease) => renewOne(lease, leaseMs)),
  };
  /** Sends the copy again. Has no effect if the queue detects duplicates. */
  const repeat = (queue: string, body: string, tags: Tags, intent: Intent): Promise<void> =>
    intent.letter ? sendDead(queue, body, tags, intent.letter) : sendCopy(queue, body, tags, intent);
  return { own, pushed, repeat };
}

/** The copy was sent, so a lost lock does no harm: the message is delivered again and replaced by the same copy. */
function unlessLost(error: unknown): void {
  if (!isLockLost(error)) throw error;
}
