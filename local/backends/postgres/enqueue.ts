/** The sending side. Calls that come together share a statement, each with its own result. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { sharing } from '../shared/sharing.ts';
import { bigintArray, intArray, textArray } from './arrays.ts';
import { insertOne } from './enqueue-sql.ts';
import { isAboutData, isCopy, postgresError } from './errors.ts';
import type { PostgresState } from './index.ts';

/** A longer statement would keep other writers waiting for more than some 10 ms. */
const chunkSize = 1000;

/** One statement's worth of messages. */
interface Batch {
  readonly messages: readonly OutgoingMessage[];
  /** As `sinceOf` says. */
  readonly since: number | null;
  /** What is sent of new messages that have all else in common; `null` = they have not. */
  readonly alike: { readonly ids: Buffer; readonly bodies: Buffer } | null;
}

/** Queues by name. */
interface Queues {
  /** Those that may not be known yet. */
  readonly fresh: readonly string[];
  /** Those whose idle workers are told. */
  readonly notified: readonly string[];
}

const none: ReadonlySet<number> = new Set();

export function createEnqueue(state: PostgresState, maxBodyBytes: number): JobSender['enqueue'] {
  const { db, ageingMs, knownQueues } = state;
  const s = db.schema;
  const told = state.at() !== null;
  const one = insertOne(s, ageingMs, told, false);
  const oneRung = insertOne(s, ageingMs, told, true);
  const someNew = `SELECT ${s}.enqueue_new($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`;
  const someAlike = `SELECT ${s}.enqueue_alike($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;
  const some = `SELECT ${s}.enqueue($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;
  const send = (sql: string, values: unknown[]) => db.prepared('enqueueing', sql, values);

  function batchOf(messages: readonly OutgoingMessage[]): Batch {
    const since = sinceOf(messages);
    return { messages, since, alike: since === null && areAlike(messages) ? idsAndBodies(messages) : null };
  }

  /** Which of the messages were copies, by their places counted from 1. */
  async function insert(batch: Batch): Promise<ReadonlySet<number>> {
    const fresh = new Set<string>();
    const queues = new Set<string>();
    for (const { queue } of batch.alike ? batch.messages.slice(0, 1) : batch.messages) {
      queues.add(queue);
      if (!knownQueues.has(queue)) fresh.add(queue);
    }
    const notified: string[] = [];
    const unrung: string[] = [];
    for (const queue of queues) (state.notifier.mayNotify(queue) ? notified : unrung).push(queue);
    const copies = await write(batch, { fresh: [...fresh], notified }).catch((error) => {
      for (const queue of notified) state.notifier.owe(queue);
      throw error;
    });
    for (const queue of fresh) knownQueues.add(queue);
    for (const queue of unrung) state.notifier.owe(queue);
    state.wake();
    return copies;
  }

  async function write(batch: Batch, queues: Queues): Promise<ReadonlySet<number>> {
    const { since } = batch;
    if (since === null) {
      try {
        await writeNew(batch, queues);
        return none;
      } catch (error) {
        if (!isCopy((error as LongshoreError).cause)) throw error; // else nothing was written
      }
    }
    const [row] = await send(some, [state.at(), ageingMs, since, ...valuesOf(batch, queues)]);
    const places = row![0] as number[] | null;
    return places === null ? none : new Set(places);
  }

  /** Fails if there is a copy among them. */
  async function writeNew(batch: Batch, queues: Queues): Promise<void> {
    if (!batch.alike) {
      await send(someNew, [state.at(), ageingMs, ...valuesOf(batch, queues)]);
      return;
    }
    const [{ queue, job, tenantId, priority }] = batch.messages as [OutgoingMessage];
    const { fresh, notified } = queues;
    const common = [queue, job, tenantId, priority];
    const told = [state.channel, textArray(notified)];
    const { ids, bodies } = batch.alike;
    await send(someAlike, [state.at(), ageingMs, textArray(fresh), ids, ...common, bodies, ...told]);
  }

  /** Ready at once, and the same but for id and body. */
  function areAlike(messages: readonly OutgoingMessage[]): boolean {
    const [first] = messages as [OutgoingMessage];
    return messages.every(
      (message) =>
        message.queue === first.queue &&
        message.job === first.job &&
        message.tenantId === first.tenantId &&
        message.priority === first.priority &&
        state.delayOf(message) === 0,
    );
  }

  function valuesOf({ messages }: Batch, { fresh, notified }: Queues): unknown[] {
    return [
      textArray(fresh),
      textArray(messages.map(({ id }) => id)),
      textArray(messages.map(({ queue }) => queue)),
      textArray(messages.map(({ job }) => job)),
      textArray(messages.map(({ tenantId }) => tenantId)),
      intArray(messages.map(({ priority }) => priority)),
      bigintArray(messages.map((message) => state.delayOf(message))),
      textArray(messages.map(({ body }) => body)),
      state.channel,
      textArray(notified),
    ];
  }

  /** Checks and encodes; the function returned sends. It never rejects. */
  function pack(messages: readonly OutgoingMessage[]): () => Promise<SendResult[]> {
    const results: SendResult[] = new Array(messages.length);
    const good: OutgoingMessage[] = [];
    const places: number[] = [];
    for (let i = 0; i < messages.length; i++) {
      const message = messages[i]!;
      const error = refusal(message, maxBodyBytes);
      if (error) results[i] = { ok: false, id: message.id, error };
      else places[good.push(message) - 1] = i;
    }
    const batch = good.length > 0 ? batchOf(good) : null;
    return async () => {
      const stored = batch ? await store(batch) : [];
      for (let i = 0; i < stored.length; i++) results[places[i]!] = stored[i]!;
      return results;
    };
  }

  async function store(batch: Batch): Promise<SendResult[]> {
    const { messages } = batch;
    try {
      await db.ready();
      const copies = await insert(batch);
      return messages.map(({ id }, i) => ({ ok: true, id, duplicate: copies.has(i + 1) }));
    } catch (cause) {
      const error = postgresError('enqueueing', cause);
      const results: SendResult[] = [];
      // One bad message must not take its neighbours with it.
      const alone = messages.length > 1 && isAboutData(error.cause);
      for (const message of messages) {
        const [own] = alone ? await store(batchOf([message])) : [];
        results.push(own ?? { ok: false, id: message.id, error });
      }
      return results;
    }
  }

  /** What most calls bring: one job for now, into a queue that is known. */
  async function storeOne(message: OutgoingMessage): Promise<SendResult[]> {
    const { id, queue, job, tenantId, priority, body } = message;
    const error = refusal(message, maxBodyBytes);
    if (error) return [{ ok: false, id, error }];
    const rings = state.notifier.mayNotify(queue);
    const values: unknown[] = [id, queue, job, tenantId, priority, body];
    if (told) values.push(state.at());
    if (rings) values.push(state.channel);
    try {
      await db.ready();
      await send(rings ? oneRung : one, values);
    } catch (cause) {
      if (rings) state.notifier.owe(queue);
      const error = postgresError('enqueueing', cause);
      return isCopy(error.cause) ? store(batchOf([message])) : [{ ok: false, id, error }];
    }
    if (!rings) state.notifier.owe(queue);
    state.wake();
    return [{ ok: true, id, duplicate: false }];
  }

  function isForOne(message: OutgoingMessage): boolean {
    const { hints, queue } = message;
    return hints?.isNew === true && db.mayPrepare && knownQueues.has(queue) && state.delayOf(message) === 0;
  }

  const { together } = sharing(chunkSize, (messages) =>
    messages.length === 1 && isForOne(messages[0]!) ? storeOne(messages[0]!) : pack(messages)(),
  );
  async function enqueue(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    if (messages.length <= chunkSize) return together(messages);
    const results: SendResult[] = [];
    for (let i = 0; i < messages.length; i += chunkSize)
      for (const result of await together(messages.slice(i, i + chunkSize))) results.push(result);
    return results;
  }
  return enqueue;
}

const idsAndBodies = (messages: readonly OutgoingMessage[]) => ({
  ids: textArray(messages.map(({ id }) => id)),
  bodies: textArray(messages.map(({ body }) => body)),
});

export function refusal({ id, body }: OutgoingMessage, maxBodyBytes: number): LongshoreError | null {
  if (body.length * 3 > maxBodyBytes && Buffer.byteLength(body) > maxBodyBytes) {
    const got = Buffer.byteLength(body);
    return new LongshoreError('LIMIT', `Expected a body of at most ${maxBodyBytes} bytes, got ${got}.`);
  }
  if (body.includes('\0') || id.includes('\0')) {
    return new LongshoreError(
      'OPTION',
      'Expected a body and an id without the character U+0000, which Postgres cannot store; got one. JSON escapes it.',
    );
  }
  return null;
}

const uuidv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;
/** For clocks that differ. */
const skewMs = 3_600_000;

/**
 * No copy of these messages can have ended before that time (epoch ms), so older days of the history need no look: a UUID
 * of version 7 names its time. Any other id may have been used at any time. `null`: no id was ever used before.
 */
export function sinceOf(messages: readonly OutgoingMessage[]): number | null {
  let since = Number.POSITIVE_INFINITY;
  for (const { id, hints } of messages) {
    if (hints?.isNew) continue;
    if (!uuidv7.test(id)) return 0;
    const at = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    if (at < since) since = at;
  }
  return since === Number.POSITIVE_INFINITY ? null : since - skewMs;
}
