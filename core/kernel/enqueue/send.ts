/** Sends signed messages to the queue: first the large payloads, then the messages, then their records. */

import { config, shown } from '../../base/errors.ts';
import { reportingFailures } from '../../base/failure.ts';
import { door } from '../../base/lazy.ts';
import type { OutgoingMessage, SendResult, SqlTransaction } from '../../contract/queue.ts';
import type { RecordedJob, RecordWriter } from '../../contract/store.ts';
import type { Client } from './client.ts';
import type { MaybeUnique } from './draft.ts';
import { storePayloads, type Upload } from './offload.ts';
import { partsOf } from './parts.ts';
import { wrongOption } from './prepare.ts';
import type { TimedClient } from './skew.ts';

const queueLength = door(() => import('./queue-length.ts'));

export interface SendingClient extends Pick<Client, 'app' | 'backend' | 'stores'>, TimedClient {
  /** Called instead of sending, except in a transaction: it fails over to another backend. */
  readonly sendOrFailOver?: (
    messages: readonly OutgoingMessage[],
    uploads: readonly Upload[] | null,
  ) => Promise<SendResult[]>;
}

// Not an async function: a promise around a promise takes three more microtasks per job.
export function send(
  client: SendingClient,
  messages: readonly MaybeUnique[],
  uploads: readonly Upload[] | null = null,
  tx?: SqlTransaction,
): Promise<SendResult[]> {
  if (client.sendOrFailOver && tx === undefined) return client.sendOrFailOver(messages, uploads);
  if (messages.some(isUnique))
    return partsOf(client.app).uniqueness.send(client, messages, uploads, tx, send);
  const { queueRules } = client.app;
  return queueRules.size > 0 && messages.some(({ queue }) => queueRules.get(queue)?.maxLength != null)
    ? sendLimited(client, messages, uploads, tx)
    : sendAll(client, messages, uploads, tx);
}

/** Counts before payloads are stored, so that no payload of a refused job is left over. */
const sendLimited = (
  client: SendingClient,
  messages: readonly OutgoingMessage[],
  uploads: readonly Upload[] | null,
  tx: SqlTransaction | undefined,
): Promise<SendResult[]> =>
  queueLength(({ sendWithin }) =>
    sendWithin(client, messages, uploads, (some, theirs) => sendAll(client, some, theirs, tx)),
  );

function sendAll(
  client: SendingClient,
  messages: readonly OutgoingMessage[],
  uploads: readonly Upload[] | null,
  tx: SqlTransaction | undefined,
): Promise<SendResult[]> {
  if (uploads?.length) return storeAndSend(client, messages, uploads, tx);
  if (messages.length === 0) return Promise.resolve([]);
  const { writer } = client.stores.records;
  const sending =
    tx !== undefined
      ? sendIn(client, messages, tx)
      : writer
        ? sendAndRecord(client, messages, writer)
        : client.backend.enqueue(messages);
  return client.app.events.active ? announced(client, messages, sending) : sending;
}

async function announced(
  { app: { events } }: SendingClient,
  messages: readonly OutgoingMessage[],
  sending: Promise<SendResult[]>,
): Promise<SendResult[]> {
  const results = await sending;
  for (const [i, result] of results.entries()) {
    if (!result.ok || result.duplicate) continue;
    const { id, job, queue, priority, tenantId } = messages[i]!;
    events.emit({ type: 'job.enqueued', id, job, queue, priority, tenantId });
  }
  return results;
}

const isUnique = ({ unique }: MaybeUnique): boolean => unique !== undefined;

/** Stores the payloads first: a payload without its message is only garbage, but a message without its payload is lost. */
async function storeAndSend(
  client: SendingClient,
  messages: readonly OutgoingMessage[],
  uploads: readonly Upload[],
  tx: SqlTransaction | undefined,
): Promise<SendResult[]> {
  const failed = await storePayloads(client.stores.payloads!, uploads);
  const kept = messages.filter(({ id }) => !failed.has(id));
  const sent = (await sendAll(client, kept, null, tx)).values();
  return messages.map(({ id }) => {
    const error = failed.get(id);
    return error ? { ok: false, id, error } : sent.next().value!;
  });
}

function sendIn(
  { backend }: SendingClient,
  messages: readonly OutgoingMessage[],
  tx: SqlTransaction,
): Promise<SendResult[]> {
  if (typeof tx?.query !== 'function')
    throw wrongOption(`tx to be a transaction with a query method, got ${shown(tx)}`);
  if (backend.enqueueIn) return backend.enqueueIn(tx, messages);
  throw config(
    `Backend "${backend.name}" is not in a database, so it cannot join a transaction. Leave tx out, or use outbox().`,
  );
}

/** Writes the record second: the record of a message that was never sent would wait for ever. */
async function sendAndRecord(
  { app, backend }: SendingClient,
  messages: readonly OutgoingMessage[],
  writer: RecordWriter,
): Promise<SendResult[]> {
  const at = app.clock.now();
  const results = await backend.enqueue(messages);
  const jobs = messages
    .filter((_, i) => results[i]?.ok)
    .map(({ id, queue, job, tenantId, priority, notBefore, facts, body }): RecordedJob => {
      const route = { id, queue, job, tenantId, priority, createdAt: at, runAt: notBefore ?? at };
      return { ...route, ...(facts && { facts }), ...(app.jobs.get(job)?.keepPayload && { body }) };
    });
  const ids = jobs.map(({ id }) => id);
  if (ids.length > 0)
    await reportingFailures(app.events, 'recording new jobs', ids, () => writer.enqueued(jobs));
  return results;
}
