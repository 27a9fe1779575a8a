/** Sends new jobs to another backend while their own does not answer. */

import { LongshoreError } from '../base/errors.ts';
import { tellWarning } from '../base/events.ts';
import { backendError } from '../base/failure.ts';
import type { OutgoingMessage, SendResult } from '../contract/queue.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import type { Upload } from '../kernel/enqueue/offload.ts';
import { type SendingClient, send } from '../kernel/enqueue/send.ts';
import { aheadMsOf } from '../kernel/enqueue/skew.ts';
import { createOutage, type Outage } from './outage.ts';

/** Tracks the outage of the first backend, for all calls that may go to the second one. */
export function outageOf(first: Client, second: Client): Outage {
  const { app, name } = first;
  return createOutage(app.clock, (error) =>
    tellWarning(
      app.events,
      first.backend.name,
      error
        ? `Backend "${name}" does not answer, so its new jobs go to "${second.name}" for now: ${error.message}`
        : `Backend "${name}" answers again: new jobs go there.`,
    ),
  );
}

/** A backend, the one that takes its new jobs while it does not answer, and the state of its outage. */
export interface Pair {
  readonly first: Client;
  readonly second: Client;
  readonly outage: Outage;
}

/** @param went called when the second backend has taken a job */
export function failingOver(pair: Pair, went: () => void): SendingClient {
  const { first, second } = pair;
  const { app, backend, stores } = first;
  return {
    app,
    backend,
    stores,
    aheadMs: () => aheadMsOfEither(pair),
    async sendOrFailOver(messages, uploads) {
      // A payload in the first backend's payload store would not be found from the second backend.
      if (uploads?.length && !second.stores.payloads) return send(first, messages, uploads);
      const { value: results, error } = await either(pair, (client) => sendTo(client, messages, uploads));
      if (!error) return results;
      went();
      tell(
        pair,
        error,
        results.filter(({ ok }) => ok).map(({ id }) => id),
      );
      return results;
    },
  };
}

/** Starts a chain on the first backend that takes it, which then keeps the whole chain. */
export async function startOnEither<Flow>(
  pair: Pair,
  start: (client: Client) => Promise<Flow>,
  idsOf: (flow: Flow) => readonly string[],
): Promise<Flow> {
  const { value, error } = await either(pair, (client) => answerOf(start(asFirst(pair, client)), true));
  if (error) tell(pair, error, idsOf(value));
  return value;
}

/** Picks the backend for a batch. Its items can be read only once, so this first checks that the store answers. */
export async function homeOnEither(pair: Pair): Promise<Client> {
  const probe = async (client: Client): Promise<Client> => {
    await client.stores.batches?.get('-');
    return asFirst(pair, client);
  };
  return (await either(pair, (client) => answerOf(probe(client), false))).value;
}

/** The second client under the name of the first, so that a chain or batch takes it for the backend of its jobs. */
const asFirst = ({ first }: Pair, client: Client): Client => ({ ...client, name: first.name! });

async function answerOf<Value>(work: Promise<Value>, proves: boolean): Promise<Answer<Value>> {
  try {
    return { value: await work, failure: null, error: null, proves };
  } catch (failure) {
    return failed(failure);
  }
}

function tell({ first, second }: Pair, error: LongshoreError, ids: readonly string[]): void {
  const { events } = first.app;
  if (ids.length > 0)
    events.emit({ type: 'enqueue.failed-over', backend: first.name!, to: second.name!, ids, error });
}

interface Answer<Value> {
  /** `null` = the whole call failed, with `failure`. */
  readonly value: Value | null;
  readonly failure: unknown;
  /** Set if no message got through, because the backend was not reached. Some backends then reject, others return an error per message. */
  readonly error: LongshoreError | null;
  /** Whether the answer proves that the backend is back. */
  readonly proves: boolean;
}

/**
 * Asks the second backend only if no message of the call got through to the first: a backend that answers for one message is not down.
 * `error`: why the second one was asked; `null` = it was not.
 */
async function either<Value>(
  { first, second, outage }: Pair,
  ask: (client: Client) => Promise<Answer<Value>>,
): Promise<{ readonly value: Value; readonly error: LongshoreError | null }> {
  const askFirst = async (round: number): Promise<Answer<Value>> => {
    const answer = await ask(first);
    if (answer.error) outage.failed(answer.error, round);
    else if (answer.proves) outage.answered();
    return answer;
  };
  const { error: known, round } = outage.look();
  const answer = known ? null : await askFirst(round);
  const error = answer ? answer.error : known;
  if (!error) return { value: givenBy(answer!), error };
  const other = await ask(second);
  if (!other.error) return { value: givenBy(other), error };
  // The first backend may be back by now.
  const again = known ? await askFirst(round) : answer!;
  if (!again.error) return { value: givenBy(again), error: null };
  if (other.value !== null) return { value: other.value, error: null };
  throw neither(second, again.error, other.error, other.failure);
}

const neither = ({ name }: Client, first: LongshoreError, second: LongshoreError, cause: unknown) =>
  new LongshoreError(
    'BACKEND',
    `${first.message} Backend "${name}" does not answer either: ${second.message}`,
    {
      cause,
    },
  );

/** The clock difference to the backend that is expected to take the job. */
function aheadMsOfEither(pair: Pair): number | Promise<number> {
  const { first, outage } = pair;
  const { isAway, round } = outage.peek();
  const aheadMs = isAway ? askClocks(pair) : aheadMsOf(first);
  if (isAway || typeof aheadMs === 'number') return aheadMs;
  return aheadMs.catch((cause) => {
    const error = backendError('asking for the time', cause);
    outage.failed(error, round);
    return askClocks(pair, error);
  });
}

/** @param known the error of the first backend in this call */
async function askClocks({ first, second }: Pair, known?: LongshoreError): Promise<number> {
  try {
    return await aheadMsOf(second);
  } catch (cause) {
    const other = backendError('asking for the time', cause);
    try {
      if (!known) return await aheadMsOf(first); // it may be back by now
    } catch (cause) {
      throw neither(second, backendError('asking for the time', cause), other, cause);
    }
    throw neither(second, known, other, cause);
  }
}

async function sendTo(
  client: Client,
  messages: readonly OutgoingMessage[],
  uploads: readonly Upload[] | null,
): Promise<Answer<SendResult[]>> {
  try {
    const value = await send(client, messages, uploads);
    const errors = value.map((result) => (result.ok ? null : unreachable(result.error)));
    const error = errors.every((error) => error) ? (errors[0] ?? null) : null;
    return { value, failure: null, error, proves: value.some(({ ok }) => ok) };
  } catch (failure) {
    return failed(failure);
  }
}

const failed = (failure: unknown): Answer<never> => ({
  value: null,
  failure,
  error: unreachable(backendError('enqueueing', failure)),
  proves: false,
});

function givenBy<Value>({ value, failure }: Answer<Value>): Value {
  if (value !== null) return value;
  throw backendError('enqueueing', failure);
}

const unreachable = (error: LongshoreError): LongshoreError | null =>
  error.code === 'BACKEND' ? error : null;
