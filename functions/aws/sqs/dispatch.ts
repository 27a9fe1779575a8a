/** Messages to their queues: at once, or by a schedule where they are due later than SQS can delay. */

import { type Failure, thrownByAll } from './batches.ts';
import type { Connection } from './connection.ts';
import type { QueueAddress } from './queues.ts';
import { type Parcel, send } from './sending.ts';

/** One answer per parcel: `null` = it is on its way. Rejects when none could be sent. */
export async function dispatch(
  connection: Connection,
  address: QueueAddress,
  parcels: readonly Parcel[],
): Promise<(Failure | null)[]> {
  const far = parcels.some(({ dueAt }) => dueAt !== null) ? await connection.scheduler() : null;
  const scheduled = new Set(far ? parcels.filter((parcel) => far.takes(address, parcel)) : []);
  const direct = parcels.filter((parcel) => !scheduled.has(parcel));
  const [sent, planned] = await Promise.all([
    failing(direct, async () => send(await connection.api(), address.url, address.fifo, direct)),
    failing([...scheduled], () => far!.schedule(address, [...scheduled])),
  ]);
  const answers = { sent: sent.values(), planned: planned.values() };
  return thrownByAll(
    parcels.map((parcel) => (scheduled.has(parcel) ? answers.planned : answers.sent).next().value!),
  );
}

/** What fails as a whole fails for these parcels: the others may be on their way. */
async function failing(
  parcels: readonly Parcel[],
  work: () => Promise<(Failure | null)[]>,
): Promise<(Failure | null)[]> {
  if (parcels.length === 0) return [];
  try {
    return await work();
  } catch (cause) {
    const failure = { code: 'RequestFailed', message: String(cause), senderFault: false, cause };
    return parcels.map(() => failure);
  }
}
