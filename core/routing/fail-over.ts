/** Sends new jobs to another backend while theirs does not answer. */

import { LongshoreError } from '../base/errors.ts';
import { backendError } from '../base/failure.ts';
import type { SendResult } from '../contract/queue.ts';
import type { Client } from '../enqueue/client.ts';
import { type SendingClient, send } from '../enqueue/send.ts';

/**
 * Not in a transaction, and only where nothing of the call got through: a backend that has answered for one message is there.
 * @param went is called when the second one is asked
 */
export function failingOver(first: Client, second: Client, went: () => void): SendingClient {
  const { app, backend, stores } = first;
  const { events } = app;
  return {
    app,
    backend,
    stores,
    async sendOrFailOver(messages, uploads) {
      const sent = await send(first, messages, uploads).catch((error) => backendError('enqueueing', error));
      const error = sent instanceof LongshoreError ? unreachable(sent) : allUnreachable(sent);
      // A payload that is kept beside the first queue would not be found from the second one.
      if (error === null || (uploads?.length && !second.stores.payloads)) {
        if (sent instanceof LongshoreError) throw sent;
        return sent;
      }
      went();
      const results = await send(second, messages, uploads).catch((cause) => {
        const text = `${error.message} Nor does backend "${second.name}" answer: ${backendError('enqueueing', cause).message}`;
        throw new LongshoreError('BACKEND', text, { cause });
      });
      const ids = results.filter(({ ok }) => ok).map(({ id }) => id);
      if (ids.length > 0)
        events.emit({ type: 'enqueue.failed-over', backend: first.name!, to: second.name!, ids, error });
      return results;
    },
  };
}

const unreachable = (error: LongshoreError): LongshoreError | null =>
  error.code === 'BACKEND' ? error : null;

/** Some backends reject when they are not reached, others say it of each message. */
function allUnreachable(results: readonly SendResult[]): LongshoreError | null {
  const errors = results.map((result) => (result.ok ? null : unreachable(result.error)));
  return errors.every((error) => error !== null) ? (errors[0] ?? null) : null;
}
