/** Settles leases. Each verb first takes the lease from the lease table, and puts it back if SQS cannot be reached. */

import { toError } from '../../../core/base/failure.ts';
import type { Abandon, JobLease, JobSettler } from '../../../core/contract/queue.ts';
import { cutText } from '../../../core/kit/body-limit.ts';
import type { RefundedDeliveries } from '../../../core/kit/metadata.ts';
import { forEach, together } from '../../../core/kit/parallel.ts';
import { type BatchRules, type Failure, inBatches, largestRequest } from './batches.ts';
import { type Connection, failedEntry } from './connection.ts';
import { dispatch } from './enqueue.ts';
import { createLeaseTable, type Receipt, receiptOf } from './leases.ts';
import { type Attributes, attributesFrom, bytesOf, longestHiddenMs } from './message.ts';
import type { QueueAddress } from './queues.ts';
import type { SqsApi } from './sdk.ts';
import { messageOf, type SqsMessage, send } from './send.ts';

/** A lease whose message is replaced by a new copy, with the attempts spent so far. */
export interface Replaced {
  readonly lease: JobLease;
  readonly attempts: number;
  readonly notBefore: number | null;
}

/** A lease whose message is hidden and comes back. */
interface Hidden {
  readonly lease: JobLease;
  readonly delayMs: number;
  readonly countAttempt: boolean;
}

export interface Settler extends JobSettler {
  /** `false` for a lease that has ended, and for a copy that SQS has refused. Rejects if SQS refused all. */
  sendOn(replaced: readonly Replaced[]): Promise<boolean[]>;
  /** `nack` of many leases, without a delay and without counting an attempt. */
  release(leases: readonly JobLease[]): Promise<boolean[]>;
}

/** @param refunds `null` if no queue is FIFO */
export function createSettler(connection: Connection, refunds: RefundedDeliveries | null): Settler {
  const { clock, call } = connection;
  const { addressOf, hideableMs, drop, hide } = createSettleRequests(connection);
  const table = createLeaseTable(clock.now);

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

  /** Sends the copies first and then deletes the old messages: a crash in between leaves second copies and loses none. */
  function sendOn(replaced: readonly Replaced[]): Promise<boolean[]> {
    const how = new Map(replaced.map((one) => [one.lease, one]));
    return settle([...how.keys()], async (mine) => {
      const failures = new Map<JobLease, Error>();
      for (const [address, group] of Map.groupBy(mine, addressOf)) {
        const copies = group.map((lease) => {
          const { attempts, notBefore } = how.get(lease)!;
          return messageOf(lease.body, { ...receiptOf(lease), attempts, notBefore }, clock.now());
        });
        const during = `sending back to queue "${address.name}"`;
        try {
          const answers = await call(during, () => dispatch(connection, address, copies, 'sendBack'));
          for (const [i, failure] of answers.entries())
            if (failure) failures.set(group[i]!, failedEntry(during, failure));
        } catch (error) {
          for (const lease of group) failures.set(lease, toError(error)); // other queues may still succeed
        }
      }
      if (failures.size === mine.length) throw failures.get(mine[0]!);
      for (const lease of failures.keys()) table.untake(lease);
      await drop(mine.filter((lease) => !failures.has(lease)));
      return mine.map((lease) => !failures.has(lease));
    });
  }

  const sendOnTogether = together(sendOn);

  /**
   * The messages themselves become visible again: retries, and those whose copy would lose its place in a group. `false` for a lease that
   * has ended, and for a message that SQS has refused to hide. Rejects if SQS refused all.
   */
  const comeBack = (items: readonly Hidden[]): Promise<boolean[]> => {
    const how = new Map(items.map((item) => [item.lease, item]));
    return settle([...how.keys()], async (mine) => {
      const uncounted = refunds ? mine.filter((lease) => !how.get(lease)!.countAttempt) : [];
      await forEach(uncounted, (lease) => refunds!.add(receiptOf(lease).messageId));
      const hidden = new Set<JobLease>();
      try {
        await hide(
          mine,
          (lease) => how.get(lease)!.delayMs,
          (lease) => hidden.add(lease),
        );
      } catch (error) {
        if (hidden.size === 0) throw error;
        for (const lease of mine) if (!hidden.has(lease)) table.untake(lease);
      }
      return mine.map((lease) => hidden.has(lease));
    });
  };

  const comeBackTogether = together(comeBack);

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
    async release(leases) {
      const isFifo = (lease: JobLease): boolean => addressOf(lease).fifo;
      const copied = leases.filter((lease) => !isFifo(lease));
      const [kept, sent] = await Promise.all([
        comeBack(leases.filter(isFifo).map((lease) => ({ lease, delayMs: 0, countAttempt: false }))),
        sendOn(copied.map((lease) => ({ lease, attempts: lease.attempt - 1, notBefore: null }))),
      ]);
      const answers = { kept: kept.values(), sent: sent.values() };
      return leases.map((lease) => (isFifo(lease) ? answers.kept : answers.sent).next().value!);
    },
    async nack(lease, { delayMs, countAttempt }) {
      // SQS counts every delivery. A copy starts at zero.
      if (!addressOf(lease).fifo && (!countAttempt || delayMs > hideableMs(lease))) {
        const attempts = countAttempt ? lease.attempt : lease.attempt - 1;
        const notBefore = delayMs > 0 ? clock.now() + delayMs : null;
        return sendOnTogether({ lease, attempts, notBefore });
      }
      return comeBackTogether({ lease, delayMs, countAttempt });
    },
    async abandon(lease, why) {
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
      const renewed = new Set<JobLease>();
      await hide(
        open,
        () => leaseMs,
        (lease) => {
          renewed.add(lease);
          table.renewed(lease, now + Math.min(leaseMs, hideableMs(lease)));
        },
      );
      return leases.map((lease) => renewed.has(lease));
    },
  };
}

/** Bytes. A body leaves this much room in addition to the other attributes. */
const longestError = 1_500;

function deadMessage(lease: JobLease, receipt: Receipt, why: Abandon, now: number): SqsMessage {
  const { id, job, group, lane, messageId } = receipt;
  const facts = {
    'longshore.id': id,
    'longshore.job': job,
    'longshore.lane': lane === 'normal' ? '' : lane,
    'longshore.reason': why.reason,
    'longshore.attempt': String(lease.attempt),
    'longshore.diedAt': String(now),
    'longshore.group': group ?? '',
  };
  const error = { 'longshore.error': cutText(why.error, longestError) };
  return {
    body: lease.body,
    attributes: largestThatFits(lease.body, [{ ...facts, ...error }, facts, {}]),
    delaySeconds: 0,
    dueAt: null,
    // Each in its own group: while one is read, a FIFO queue would show at most ten of its group.
    group: null,
    // A message that dies again after a retry is another dead letter.
    dedupId: `${messageId}-${lease.attempt}`.slice(-128),
  };
}

/** A foreign body may leave no room for attributes. Then it goes to the dead letters without them. */
function largestThatFits(body: string, choices: readonly Record<string, string>[]): Attributes {
  const fits = (texts: Record<string, string>) => bytesOf(body, attributesFrom(texts)) <= largestRequest;
  return attributesFrom(choices.find(fits) ?? {});
}

/** The requests that end, hide or renew deliveries, ten at a time. */
function createSettleRequests({ clock, queues, call }: Connection) {
  /** The lane that it came from. */
  const addressOf = (lease: JobLease): QueueAddress => {
    const { lane } = receiptOf(lease);
    return queues.lanesOf(lease.queue).find((address) => address.lane === lane) ?? queues.of(lease.queue);
  };

  const hideableMs = (lease: JobLease): number =>
    Math.max(0, receiptOf(lease).receivedAt + longestHiddenMs - clock.now());

  async function perQueue<Entry>(
    leases: readonly JobLease[],
    during: string,
    rulesFor: (api: SqsApi, url: string) => BatchRules<JobLease, Entry>,
  ): Promise<(Failure | null)[]> {
    const answers = new Map<JobLease, Failure | null>();
    const work = [...Map.groupBy(leases, addressOf)].map(([{ name, url }, group]) =>
      call(`${during} in queue "${name}"`, async (api) => {
        const failures = await inBatches(group, rulesFor(api, url));
        for (const [i, lease] of group.entries()) answers.set(lease, failures[i]!);
      }),
    );
    await Promise.all(work);
    return leases.map((lease) => answers.get(lease)!);
  }

  return {
    addressOf,
    hideableMs,
    /** `false` = SQS has refused it. */
    async drop(leases: readonly JobLease[]): Promise<boolean[]> {
      const failures = await perQueue(leases, 'deleting', (api, url) => ({
        entryOf: (lease) => ({ ReceiptHandle: receiptOf(lease).handle }),
        request: (entries) => api.delete(url, entries),
      }));
      return failures.map((failure) => failure === null);
    },
    /**
     * `false` = the delivery is over. Rejects if SQS refused one for another reason.
     * @param hidden called with the leases that are now hidden
     */
    async hide(
      leases: readonly JobLease[],
      hiddenMsOf: (lease: JobLease) => number,
      hidden: (lease: JobLease) => void = () => {},
    ): Promise<boolean[]> {
      const failures = await perQueue(leases, 'changing the visibility', (api, url) => ({
        entryOf: (lease) => ({
          ReceiptHandle: receiptOf(lease).handle,
          VisibilityTimeout: Math.ceil(Math.min(hiddenMsOf(lease), hideableMs(lease)) / 1000),
        }),
        request: (entries) => api.hide(url, entries),
      }));
      for (const [i, lease] of leases.entries()) if (failures[i] === null) hidden(lease);
      const refused = failures.find((failure) => failure !== null && !isOver(failure));
      if (refused) throw failedEntry(`changing the visibility in queue "${leases[0]!.queue}"`, refused);
      return failures.map((failure) => failure === null);
    },
  };
}

/** SQS has deleted the message or delivered it again. */
const isOver = ({ code, message }: Failure): boolean =>
  /ReceiptHandleIsInvalid|MessageNotInflight/.test(code) || /ReceiptHandle|does not exist/.test(message);
