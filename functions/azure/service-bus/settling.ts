/**
 * How leases end. Each verb first takes the lease from those held, and puts it back when Service Bus could not be told.
 * A message is given back as a copy: only a new message can have a time of its own, and only it begins without deliveries.
 */

import type { Abandon, Ack, JobLease, JobSettler, Nack } from '../../../core/contract/queue.ts';
import type { Holding, OutgoingParcel } from './api.ts';
import type { Connection } from './connection.ts';
import { isLockLost, serviceBusError } from './errors.ts';
import { ticketOf } from './leases.ts';
import { factsOf, type Letter, letterFor, letterParcel } from './letters.ts';
import type { Locks } from './locks.ts';
import { copyOf, parcelOf, type Tags } from './message.ts';
import type { Move, Moves } from './moves.ts';

export interface Settling {
  /** For messages that were fetched here. */
  readonly own: JobSettler;
  /** For messages that a host holds and completes itself when it is told that they are done. */
  readonly pushed: JobSettler;
  /** A second time it changes nothing, where the queue detects duplicates. */
  repeat(queue: string, body: string, tags: Tags, move: Move): Promise<void>;
}

export function createSettling(connection: Connection, locks: Locks, moves: Moves | null): Settling {
  const { clock, addressOf, call } = connection;

  function sendCopy(queue: string, body: string, tags: Tags, move: Move): Promise<void> {
    const copy = parcelOf(body, copyOf(tags, move), move.notBefore, clock.now());
    return sendOne(addressOf(queue).entity, copy, `sending back to queue "${queue}"`);
  }

  function sendLetter(queue: string, body: string, tags: Tags, letter: Letter): Promise<void> {
    const { failedEntity } = addressOf(queue);
    const during = `sending to the queue of dead letters "${failedEntity}"`;
    return sendOne(failedEntity, letterParcel(body, tags, letter), during);
  }

  async function sendOne(entity: string, parcel: OutgoingParcel, during: string): Promise<void> {
    const [failure] = await call(during, (api) => api.send(entity, [parcel]));
    if (failure) throw serviceBusError(during, failure);
  }

  /** `false` when the lease has ended, here or for the broker. */
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

  /** Proves that the message is still ours, before there are two of it. */
  async function prove(lease: JobLease, holding: Holding): Promise<void> {
    await (await connection.api()).renew(nameOf(lease), holding);
  }

  function nackWith(completes: boolean) {
    return (lease: JobLease, { delayMs, countAttempt }: Nack): Promise<boolean> =>
      settle(lease, async (holding) => {
        const { tags, lockToken } = ticketOf(lease);
        const move: Move = {
          attempts: countAttempt ? lease.attempt : lease.attempt - 1,
          interrupted: !countAttempt && lease.interrupted,
          notBefore: delayMs > 0 ? clock.now() + delayMs : null,
        };
        await prove(lease, holding);
        await moves?.note(addressOf(lease.queue).entity, tags, lockToken, move);
        await sendCopy(lease.queue, lease.body, tags, move);
        if (completes) await complete(lease, holding).catch(unlessLost);
      });
  }

  async function each(
    leases: readonly JobLease[],
    work: (lease: JobLease) => Promise<boolean>,
  ): Promise<boolean[]> {
    const results = await Promise.allSettled(leases.map(work));
    const failed = results.filter((result) => result.status === 'rejected');
    // Where some could be call, the others have had their tries: they come back when their locks end.
    if (failed.length > 0 && failed.length === results.length) throw failed[0]!.reason;
    return results.map((result) => result.status === 'fulfilled' && result.value);
  }

  const renew = (leases: readonly JobLease[], leaseMs: number): Promise<boolean[]> =>
    each(leases, (lease) =>
      locks.renew(lease, leaseMs).catch((error: unknown) => {
        throw serviceBusError(`renewing a lock of queue "${lease.queue}"`, error);
      }),
    );

  return {
    repeat: (queue, body, tags, move) =>
      move.letter ? sendLetter(queue, body, tags, move.letter) : sendCopy(queue, body, tags, move),
    own: {
      ack: (acks) =>
        each(
          acks.map(({ lease }) => lease),
          (lease) => settle(lease, (holding) => complete(lease, holding)),
        ),
      nack: nackWith(true),
      abandon: (lease: JobLease, why: Abandon) =>
        settle(lease, async (holding) => {
          if (why.reason === 'cancelled') return complete(lease, holding);
          const facts = factsOf(lease, why, clock.now());
          await (await connection.api()).deadLetter(nameOf(lease), holding, facts);
        }),
      renew,
    },
    pushed: {
      ack: (acks: readonly Ack[]) =>
        each(
          acks.map(({ lease }) => lease),
          (lease) => settle(lease, async () => {}),
        ),
      nack: nackWith(false),
      abandon: (lease, why) =>
        settle(lease, async (holding) => {
          if (why.reason === 'cancelled') return;
          const { tags, lockToken } = ticketOf(lease);
          const letter = letterFor(lease, why, clock.now());
          const move: Move = { attempts: lease.attempt, interrupted: false, notBefore: null, letter };
          await prove(lease, holding);
          await sendLetter(lease.queue, lease.body, tags, letter);
          // Not before: a job whose letter could not be sent runs once more. Without the note one that was sent does so too.
          await moves?.note(addressOf(lease.queue).entity, tags, lockToken, move).catch(() => {});
        }),
      renew,
    },
  };
}

/** The copy is what counts: a message that stays comes again, and is then replaced by the same copy. */
function unlessLost(error: unknown): void {
  if (!isLockLost(error)) throw error;
}
