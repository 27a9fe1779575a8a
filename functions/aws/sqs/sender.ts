/** Messages of the app on their way to their queues. */

import { randomUUID } from 'node:crypto';
import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract.ts';
import type { LongshoreError } from '../../../core/errors.ts';
import type { Connection } from './connection.ts';
import { dispatch } from './dispatch.ts';
import { failedEntry, sqsError } from './errors.ts';
import { laneOf } from './lanes.ts';
import { maxBodyBytes } from './limits.ts';
import type { Place } from './queues.ts';
import { parcelOf, unsendable } from './sending.ts';

export function createSender(connection: Connection): JobSender {
  const { clock, queues, placeOf, told } = connection;

  async function sendAll(place: Place, messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const now = clock.now();
    const parcels = messages.map(({ id, job, group, notBefore, body, moved }) => {
      const parcel = parcelOf(body, { id, job, group, attempts: 0, notBefore }, now);
      // A name of its own: under the one that it had here before, a FIFO queue would drop it as a duplicate.
      return moved ? { ...parcel, dedupId: `${id}:moved-${randomUUID().slice(0, 8)}`.slice(-128) } : parcel;
    });
    const during = `sending to queue "${place.name}"`;
    const failures = await told(during, () => dispatch(connection, place, parcels));
    return messages.map(({ id }, i) => {
      const failure = failures[i];
      if (!failure) return { ok: true, id, duplicate: false };
      const { cause } = failure;
      return { ok: false, id, error: cause ? sqsError(during, cause) : failedEntry(during, failure) };
    });
  }

  return {
    async enqueue(messages) {
      const now = clock.now();
      const results = new Map<OutgoingMessage, SendResult>();
      const ready = messages.filter((message) => {
        const error = unsendable(message, placeOf(message.queue).fifo, maxBodyBytes, now);
        if (error) results.set(message, { ok: false, id: message.id, error });
        return !error;
      });
      const failed: LongshoreError[] = [];
      const groups = Map.groupBy(ready, ({ queue, priority }) => laneOf(queues.lanesOf(queue), priority));
      for (const [place, group] of groups) {
        const sent = await sendAll(place, group).catch((error: LongshoreError) => {
          failed.push(error);
          return group.map(({ id }): SendResult => ({ ok: false, id, error }));
        });
        for (const [i, message] of group.entries()) results.set(message, sent[i]!);
      }
      if (failed.length > 0 && failed.length === groups.size) throw failed[0];
      return messages.map((message) => results.get(message)!);
    },
  };
}
