/** How leases end. Each verb first takes the lease from the lease table, and puts it back when SQS cannot be reached. */

import type { JobLease, JobSettler } from '../../../core/contract/queue.ts';
import { type BatchRules, type Failure, inBatches } from './batches.ts';
import type { Connection } from './connection.ts';
import { deadMessage } from './dead-message.ts';
import { dispatch } from './dispatch.ts';
import { failedEntry } from './errors.ts';
import { createLeaseTable, receiptOf } from './leases.ts';
import { longestHiddenMs } from './limits.ts';
import type { QueueAddress } from './queues.ts';
import type { RefundedDeliveries } from './refunded-deliveries.ts';
import type { SqsApi } from './sdk.ts';
import { messageOf, send } from './send.ts';

export interface Settler extends JobSettler {
  /** Replaces the message by a fresh copy of which `attempts` are spent. `false` for a lease that has ended. */
  sendOn(lease: JobLease, attempts: number, notBefore: number | null): Promise<boolean>;
}

/** @param refunds `null` where no queue is FIFO */
export function createSettler(
  connection: Connection,
  refunds: (() => Promise<RefundedDeliveries>) | null,
): Settler {
  const { clock, queues, call } = connection;
  const table = createLeaseTable(clock.now);

  const addressOf = (lease: JobLease): QueueAddress => {
    const { lane } = receiptOf(lease);
    return queues.lanesOf(lease.queue).find((address) => address.lane === lane) ?? queues.of(lease.queue);
  };

  const hideableMs = (lease: JobLease): number =>
    Math.max(0, receiptOf(lease).receivedAt + longestHiddenMs - clock.now());

  const drop = (leases: readonly JobLease[]): Promise<boolean[]> =>
    perQueue(leases, 'deleting', (api, url) => ({
      entryOf: (lease) => ({ ReceiptHandle: receiptOf(lease).handle }),
      request: (entries) => api.delete(url, entries),
    }));

  const hide = (leases: readonly JobLease[], hiddenMs: number): Promise<boolean[]> =>
    perQueue(leases, 'changing the visibility', (api, url) => ({
      entryOf: (lease) => ({
        ReceiptHandle: receiptOf(lease).handle,
        VisibilityTimeout: Math.ceil(Math.min(hiddenMs, hideableMs(lease)) / 1000),
      }),
      request: (entries) => api.hide(url, entries),
    }));

  async function perQueue<Entry>(
    leases: readonly JobLease[],
    during: string,
    rulesFor: (api: SqsApi, url: string) => BatchRules<JobLease, Entry>,
  ): Promise<boolean[]> {
    const done = new Map<JobLease, boolean>();
    const groups = Map.groupBy(leases, addressOf);
    const work = [...groups].map(([{ name, url }, group]) =>
      call(`${during} in queue "${name}"`, async (api) => {
        const failures = await inBatches(group, rulesFor(api, url));
        for (const [i, lease] of group.entries()) done.set(lease, failures[i] === null);
      }),
    );
    await Promise.all(work);
    return leases.map((lease) => done.get(lease)!);
  }

  /** Runs `work` on the leases that may still settle; the others get `false`. */
  async function settle(
    leases: readonly JobLease[],
    work: (mine: readonly JobLease[]) => Promise<boolean[]>,
  ): Promise<boolean[]> {
    const mine = leases.map((lease) => (table.take(lease) ? lease : null));
    const taken = mine.filter((lease) => lease !== null);
    if (taken.length === 0) return mine.map(() => false);
    try {
      const answers = (await work(taken)).values();
      return mine.map((lease) => lease !== null && answers.next().value === true);
    } catch (error) {
      for (const lease of taken) table.untake(lease);
      throw error;
    }
  }

  async function settleOne(
    lease: JobLease,
    work: (mine: readonly JobLease[]) => Promise<boolean[]>,
  ): Promise<boolean> {
    return (await settle([lease], work))[0] === true;
  }

  /** Sends the copy first and then deletes the old message: a crash in between leaves a second copy, and loses none. */
  function sendOn(lease: JobLease, attempts: number, notBefore: number | null): Promise<boolean> {
    const address = addressOf(lease);
    const { id, job, group } = receiptOf(lease);
    return settleOne(lease, async (mine) => {
      const message = messageOf(lease.body, { id, job, group, attempts, notBefore }, clock.now());
      await sendOne(`sending back to queue "${lease.queue}"`, () => dispatch(connection, address, [message]));
      await drop(mine);
      return [true];
    });
  }

  async function sendOne(during: string, work: (api: SqsApi) => Promise<(Failure | null)[]>): Promise<void> {
    const [failure] = await call(during, work);
    if (failure) throw failedEntry(during, failure);
  }

  return {
    ack: (acks) =>
      settle(
        acks.map(({ lease }) => lease),
        drop,
      ),
    sendOn,
    async nack(lease, { delayMs, countAttempt }) {
      const { fifo } = addressOf(lease);
      // SQS counts every delivery. A copy starts at none, but on a FIFO queue it would lose its rank: there a refund is counted.
      if (!fifo && (!countAttempt || delayMs > hideableMs(lease))) {
        const attempts = countAttempt ? lease.attempt : lease.attempt - 1;
        return sendOn(lease, attempts, delayMs > 0 ? clock.now() + delayMs : null);
      }
      return settleOne(lease, async (mine) => {
        if (!countAttempt) await (await refunds?.())?.add(receiptOf(lease).messageId);
        return hide(mine, delayMs);
      });
    },
    abandon(lease, why) {
      const { deadLetterUrl, fifo } = addressOf(lease);
      return settleOne(lease, async (mine) => {
        if (why.reason !== 'cancelled') {
          const message = deadMessage(lease, receiptOf(lease), why, clock.now());
          await sendOne(`sending to the dead-letter queue of "${lease.queue}"`, (api) =>
            send(api, deadLetterUrl, fifo, [message]),
          );
        }
        await drop(mine);
        return [true];
      });
    },
    async renew(leases, leaseMs) {
      const open = leases.filter((lease) => table.isOpen(lease) && hideableMs(lease) > 0);
      if (open.length === 0) return leases.map(() => false);
      const now = clock.now();
      const answers = await hide(open, leaseMs);
      const renewed = new Set(open.filter((_, i) => answers[i]));
      for (const lease of renewed) table.renewed(lease, now + Math.min(leaseMs, hideableMs(lease)));
      return leases.map((lease) => renewed.has(lease));
    },
  };
}
