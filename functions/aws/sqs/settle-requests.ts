/** The requests of SQS that end, hide or renew deliveries, ten at a time. */

import type { JobLease } from '../../../core/contract/queue.ts';
import { type BatchRules, type Failure, inBatches } from './batches.ts';
import type { Connection } from './connection.ts';
import { failedEntry } from './errors.ts';
import { receiptOf } from './leases.ts';
import { longestHiddenMs } from './limits.ts';
import type { QueueAddress } from './queues.ts';
import type { SqsApi } from './sdk.ts';

export type SettleRequests = ReturnType<typeof createSettleRequests>;

export function createSettleRequests({ clock, queues, call }: Connection) {
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
    /** `false`: SQS has refused it. */
    async drop(leases: readonly JobLease[]): Promise<boolean[]> {
      const failures = await perQueue(leases, 'deleting', (api, url) => ({
        entryOf: (lease) => ({ ReceiptHandle: receiptOf(lease).handle }),
        request: (entries) => api.delete(url, entries),
      }));
      return failures.map((failure) => failure === null);
    },
    /**
     * `false`: the delivery is over. Rejects when SQS has refused one for another reason.
     * @param hidden called with those that are hidden now
     */
    async hide(
      leases: readonly JobLease[],
      hiddenMs: number,
      hidden: (lease: JobLease) => void = () => {},
    ): Promise<boolean[]> {
      const failures = await perQueue(leases, 'changing the visibility', (api, url) => ({
        entryOf: (lease) => ({
          ReceiptHandle: receiptOf(lease).handle,
          VisibilityTimeout: Math.ceil(Math.min(hiddenMs, hideableMs(lease)) / 1000),
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

/** SQS has deleted the message, or given it out once more. */
const isOver = ({ code, message }: Failure): boolean =>
  /ReceiptHandleIsInvalid|MessageNotInflight/.test(code) || /ReceiptHandle|does not exist/.test(message);
