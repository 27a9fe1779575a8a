/** Sends new jobs to another backend while theirs does not answer. */

import { LongshoreError } from '../base/errors.ts';
import { tellWarning } from '../base/events.ts';
import { backendError } from '../base/failure.ts';
import type { OutgoingMessage, SendResult } from '../contract/queue.ts';
import type { Client } from '../enqueue/client.ts';
import type { Upload } from '../enqueue/offload.ts';
import { type SendingClient, send } from '../enqueue/send.ts';
import { createOutage, type Outage } from './outage.ts';

/** Of the first one, for all calls that may go to the second one instead. */
export function outageOf(first: Client, second: Client): Outage {
  const { app, name } = first;
  return createOutage(app.clock, (error) =>
    tellWarning(
      app.events,
      first.backend.name,
      error
        ? `Backend "${name}" does not answer, so its new jobs go to "${second.name}" for now: ${error.message}`
        : `Backend "${name}" answers again: its new jobs go there.`,
    ),
  );
}

/**
 * Not in a transaction, and only where nothing of the call got through: a backend that has answered for one message is there.
 * @param went is called when the second one has been asked
 */
export function failingOver(first: Client, second: Client, outage: Outage, went: () => void): SendingClient {
  const { app, backend, stores } = first;
  return {
    app,
    backend,
    stores,
    async sendOrFailOver(messages, uploads) {
      // A payload that is kept beside the first queue would not be found from the second one.
      if (uploads?.length && !second.stores.payloads) return send(first, messages, uploads);
      const askFirst = async (round: number): Promise<Answer> => {
        const answer = await ask(first, messages, uploads);
        if (answer.error) outage.failed(answer.error, round);
        else if (answer.results?.some(({ ok }) => ok)) outage.answered();
        return answer;
      };
      const { error: known, round } = outage.look();
      const answer = known ? null : await askFirst(round);
      const error = answer ? answer.error : known;
      if (!error) return resultsOf(answer!);
      const other = await ask(second, messages, uploads);
      if (other.error) {
        // Perhaps the first one is back by now.
        const again = known ? await askFirst(round) : answer!;
        if (!again.error) return resultsOf(again);
        if (other.results) return other.results;
        const text = `${again.error.message} Nor does backend "${second.name}" answer: ${other.error.message}`;
        throw new LongshoreError('BACKEND', text, { cause: other.failure });
      }
      went();
      const results = resultsOf(other);
      const ids = results.filter(({ ok }) => ok).map(({ id }) => id);
      if (ids.length > 0)
        app.events.emit({ type: 'enqueue.failed-over', backend: first.name!, to: second.name!, ids, error });
      return results;
    },
  };
}

interface Answer {
  /** `null` = it failed as a whole, with `failure`. */
  readonly results: SendResult[] | null;
  readonly failure: unknown;
  /** Nothing got through, because it was not reached. Some backends reject then, others say it of each message. */
  readonly error: LongshoreError | null;
}

async function ask(
  client: Client,
  messages: readonly OutgoingMessage[],
  uploads: readonly Upload[] | null,
): Promise<Answer> {
  try {
    const results = await send(client, messages, uploads);
    const errors = results.map((result) => (result.ok ? null : unreachable(result.error)));
    return { results, failure: null, error: errors.every((error) => error) ? (errors[0] ?? null) : null };
  } catch (failure) {
    return { results: null, failure, error: unreachable(backendError('enqueueing', failure)) };
  }
}

function resultsOf({ results, failure }: Answer): SendResult[] {
  if (results) return results;
  throw backendError('enqueueing', failure);
}

const unreachable = (error: LongshoreError): LongshoreError | null =>
  error.code === 'BACKEND' ? error : null;
