/** The sending side. Calls that come together share a statement, each with its own result. */

import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract.ts';
import { LongshoreError } from '../../../core/errors.ts';
import { sharing } from '../../sharing.ts';
import { bigintArray, intArray, textArray } from './arrays.ts';
import { insertOne } from './enqueue-sql.ts';
import { isAboutData, isCopy, postgresError } from './errors.ts';
import type { PostgresState } from './index.ts';

/** A longer statement would keep other writers waiting for more than some 10 ms. */
const chunkSize = 1000;

/** One statement's worth of messages. */
interface Batch {
  readonly messages: readonly OutgoingMessage[];
  /** Queues that may not be known yet. */
  readonly fresh: readonly string[];
  /** Queues whose idle workers are told. */
  readonly rung: readonly string[];
}

const none: ReadonlySet<number> = new Set();

export function createEnqueue(state: PostgresState, maxBodyBytes: number): JobSender['enqueue'] {
  const { db, ageingMs, knownQueues } = state;
  const s = db.schema;
  const one = insertOne(s);
  const someNew = `SELECT ${s}.enqueue_new($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`;
  const someAlike = `SELECT ${s}.enqueue_alike($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;
  const some = `SELECT ${s}.enqueue($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`;
  const send = (sql: string, values: unknown[]) => db.prepared('enqueueing', sql, values);

  /** Which of the messages were copies, by their places counted from 1. */
  async function insert(messages: readonly OutgoingMessage[]): Promise<ReadonlySet<number>> {
    const fresh = new Set<string>();
    const queues = new Set<string>();
    for (const { queue } of messages) {
      queues.add(queue);
      if (!knownQueues.has(queue)) fresh.add(queue);
    }
    const rung: string[] = [];
    const unrung: string[] = [];
    for (const queue of queues) (state.ringer.due(queue) ? rung : unrung).push(queue);
    const copies = await write({ messages, fresh: [...fresh], rung }).catch((error) => {
      for (const queue of rung) state.ringer.owe(queue);
      throw error;
    });
    for (const queue of fresh) knownQueues.add(queue);
    for (const queue of unrung) state.ringer.owe(queue);
    state.wake();
    return copies;
  }

  async function write(batch: Batch): Promise<ReadonlySet<number>> {
    const since = sinceOf(batch.messages);
    if (since === null) {
      try {
        await writeNew(batch);
        return none;
      } catch (error) {
        if (!isCopy((error as LongshoreError).cause)) throw error; // else nothing was written
      }
    }
    const [row] = await send(some, [state.at(), ageingMs, since, ...valuesOf(batch)]);
    const places = row![0] as number[] | null;
    return places === null ? none : new Set(places);
  }

  /** Fails if there is a copy among them. */
  async function writeNew(batch: Batch): Promise<void> {
    const { messages, fresh, rung } = batch;
    const [first] = messages as [OutgoingMessage];
    if (!messages.every((message) => isLike(message, first))) {
      await send(someNew, [state.at(), ageingMs, ...valuesOf(batch)]);
      return;
    }
    const { id, queue, job, tenantId, priority, body } = first;
    if (messages.length === 1 && fresh.length === 0 && db.mayPrepare) {
      const channel = rung.length > 0 ? state.channel : null;
      await send(one, [state.at(), ageingMs, id, queue, job, tenantId, priority, body, channel]);
      return;
    }
    const ids = textArray(messages.map(({ id }) => id));
    const bodies = textArray(messages.map(({ body }) => body));
    const common = [queue, job, tenantId, priority];
    const told = [state.channel, textArray(rung)];
    await send(someAlike, [state.at(), ageingMs, textArray(fresh), ids, ...common, bodies, ...told]);
  }

  /** Ready at once, and the same but for id and body. */
  function isLike(message: OutgoingMessage, first: OutgoingMessage): boolean {
    const { queue, job, tenantId, priority } = message;
    return (
      queue === first.queue &&
      job === first.job &&
      tenantId === first.tenantId &&
      priority === first.priority &&
      state.delayOf(message) === 0
    );
  }

  function valuesOf({ messages, fresh, rung }: Batch): unknown[] {
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
      textArray(rung),
    ];
  }

  async function store(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const results: SendResult[] = new Array(messages.length);
    const good: OutgoingMessage[] = [];
    const places: number[] = [];
    for (const [i, message] of messages.entries()) {
      const error = refusal(message, maxBodyBytes);
      if (error) results[i] = { ok: false, id: message.id, error };
      else places[good.push(message) - 1] = i;
    }
    if (good.length === 0) return results;
    try {
      await db.ready();
      const copies = await insert(good);
      for (const [i, { id }] of good.entries())
        results[places[i]!] = { ok: true, id, duplicate: copies.has(i + 1) };
    } catch (cause) {
      const error = postgresError('enqueueing', cause);
      // One bad message must not take its neighbours with it.
      const alone = good.length > 1 && isAboutData(error.cause);
      for (const [i, message] of good.entries()) {
        const [own] = alone ? await store([message]) : [{ ok: false as const, id: message.id, error }];
        results[places[i]!] = own!;
      }
    }
    return results;
  }

  const share = sharing(chunkSize, store);
  return async (messages) => {
    if (messages.length <= chunkSize) return share(messages);
    const results: SendResult[] = [];
    for (let i = 0; i < messages.length; i += chunkSize)
      for (const result of await share(messages.slice(i, i + chunkSize))) results.push(result);
    return results;
  };
}

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
  for (const { id, fresh } of messages) {
    if (fresh) continue;
    if (!uuidv7.test(id)) return 0;
    const at = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    if (at < since) since = at;
  }
  return since === Number.POSITIVE_INFINITY ? null : since - skewMs;
}
