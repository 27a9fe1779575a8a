/** Enqueues jobs. Calls at the same time share a statement. Each gets its own results. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { MessageFacts } from '../../../core/contract/outcome.ts';
import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { notifying } from '../shared/notifier.ts';
import { sharing } from '../shared/sharing.ts';
import { bigintArray, intArray, storable, textArray } from './arrays.ts';
import { insertOne } from './enqueue-sql.ts';
import { isAboutData, isCopy, postgresError } from './errors.ts';
import { storedKey } from './keys.ts';
import type { PostgresState } from './state.ts';

/** With more jobs a statement would block other writers for more than about 10 ms. */
const chunkSize = 1000;

const none: ReadonlySet<number> = new Set();

export function createEnqueue(state: PostgresState, maxBodyBytes: number): JobSender['enqueue'] {
  const { db, ageingMs, knownQueues } = state;
  const s = db.schema;
  const hasTime = state.at() !== null;
  const textOf = (notifies: boolean, hasFacts: boolean) =>
    insertOne(s, ageingMs, { hasTime, notifies, hasFacts });
  const one = { silent: textOf(false, false), notifying: textOf(true, false) };
  const oneWithFacts = { silent: textOf(false, true), notifying: textOf(true, true) };
  const someNew = `SELECT ${s}.enqueue_new($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`;
  const some = `SELECT ${s}.enqueue($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`;
  const someGrouped = `SELECT ${s}.enqueue_grouped($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, false)`;
  const send = (sql: string, values: unknown[]) => db.prepared('enqueueing', sql, values);

  /** The positions of the messages that were copies, counted from 1. */
  async function insert(messages: readonly OutgoingMessage[]): Promise<ReadonlySet<number>> {
    const queues = new Set(messages.map(({ queue }) => queue));
    const fresh = [...queues].filter((queue) => !knownQueues.has(queue));
    const copies = await notifying(state.notifier, queues, (notified) => write(messages, fresh, notified));
    for (const queue of fresh) knownQueues.add(queue);
    for (const queue of queues) state.wake(queue);
    return copies;
  }

  /**
   * @param fresh queues that may not be known yet
   * @param notified queues whose idle workers are notified
   */
  async function write(
    messages: readonly OutgoingMessage[],
    fresh: readonly string[],
    notified: readonly string[],
  ): Promise<ReadonlySet<number>> {
    const since = sinceOf(messages);
    const values = [
      textArray(fresh),
      textArray(messages.map(({ id }) => id)),
      textArray(messages.map(({ queue }) => queue)),
      textArray(messages.map(({ job }) => job)),
      textArray(messages.map(({ tenantId }) => tenantId)),
      intArray(messages.map(({ priority }) => priority)),
      bigintArray(messages.map((message) => state.delayOf(message))),
      textArray(messages.map(({ body }) => body)),
      ...factArrays(messages),
      state.channel,
      textArray(notified),
    ];
    const grouped = messages.some(({ group }) => group !== null);
    if (since === null && !grouped) {
      try {
        await send(someNew, [state.at(), ageingMs, ...values]);
        return none;
      } catch (error) {
        if (!isCopy((error as LongshoreError).cause)) throw error; // a copy: nothing was written
      }
    }
    const [row] = grouped
      ? await send(someGrouped, [state.at(), ageingMs, since, ...values, ...groupArrays(messages)])
      : await send(some, [state.at(), ageingMs, since, ...values]);
    const positions = row![0] as number[] | null;
    return positions === null ? none : new Set(positions);
  }

  /** Never rejects. */
  async function storeValid(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const { results, good, indexes } = sorted(messages, maxBodyBytes);
    if (good.length === 0) return results;
    const stored = await store(good);
    for (let i = 0; i < stored.length; i++) results[indexes[i]!] = stored[i]!;
    return results;
  }

  async function store(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    try {
      await db.ready();
      const copies = await insert(messages);
      return messages.map(({ id }, i) => ({ ok: true, id, duplicate: copies.has(i + 1) }));
    } catch (cause) {
      const error = postgresError('enqueueing', cause);
      const results: SendResult[] = [];
      // One bad message must not fail the others.
      const alone = messages.length > 1 && isAboutData(error.cause);
      for (const message of messages) {
        const [own] = alone ? await store([message]) : [];
        results.push(own ?? { ok: false, id: message.id, error });
      }
      return results;
    }
  }

  /** The most frequent call: one job without a delay, for a known queue. */
  async function storeOne(message: OutgoingMessage): Promise<SendResult[]> {
    const { id, queue, job, tenantId, priority, body, facts } = message;
    const error = refusal(message, maxBodyBytes);
    if (error) return [{ ok: false, id, error }];
    const notifies = state.notifier.mayNotify(queue);
    const values: unknown[] = [id, queue, job, tenantId, priority, body];
    if (hasTime) values.push(state.at());
    if (notifies) values.push(state.channel);
    if (facts) values.push(...storedFacts(facts));
    try {
      await db.ready();
      await send((facts ? oneWithFacts : one)[notifies ? 'notifying' : 'silent'], values);
    } catch (cause) {
      if (notifies) state.notifier.owe(queue);
      const error = postgresError('enqueueing', cause);
      return isCopy(error.cause) ? store([message]) : [{ ok: false, id, error }];
    }
    if (!notifies) state.notifier.owe(queue);
    state.wake(queue);
    return [{ ok: true, id, duplicate: false }];
  }

  function isForOne(message: OutgoingMessage): boolean {
    const { hints, queue, group } = message;
    return (
      hints?.isNew === true &&
      group === null &&
      db.mayPrepare &&
      knownQueues.has(queue) &&
      state.delayOf(message) === 0
    );
  }

  const together = sharing(chunkSize, (messages) =>
    messages.length === 1 && isForOne(messages[0]!) ? storeOne(messages[0]!) : storeValid(messages),
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

/** The valid messages with their indexes, and the results of the others. */
export function sorted(messages: readonly OutgoingMessage[], maxBodyBytes: number) {
  const results: SendResult[] = new Array(messages.length);
  const good: OutgoingMessage[] = [];
  const indexes: number[] = [];
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i]!;
    const error = refusal(message, maxBodyBytes);
    if (error) results[i] = { ok: false, id: message.id, error };
    else indexes[good.push(message) - 1] = i;
  }
  return { results, good, indexes };
}

export function refusal(
  { id, body }: Pick<OutgoingMessage, 'id' | 'body'>,
  maxBodyBytes: number,
): LongshoreError | null {
  const error = tooLarge(body, maxBodyBytes);
  if (error) return error;
  if (body.includes('\0') || id.includes('\0')) {
    return new LongshoreError(
      'OPTION',
      'Expected a body and an id without the character U+0000, which Postgres cannot store; got one. JSON escapes it.',
    );
  }
  return null;
}

const uuidv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;
/** The clocks of hosts may differ by this. */
const skewMs = 3_600_000;

/**
 * No copy of these messages can have ended before this time (epoch ms), so older days of the history need not be searched. A UUID of
 * version 7 contains its time; any other id may have been used at any time. `null` = all ids are new.
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

type StoredFacts = readonly [key: string | null, schedule: string | null, facts: string | null];

const nothing: StoredFacts = [null, null, null];
const storedText = (text: string | undefined): string | null => (text === undefined ? null : storedKey(text));

/** The stored columns of a message's facts: the searched ones, and all as JSON. */
export function storedFacts(facts: MessageFacts | undefined): StoredFacts {
  if (!facts) return nothing;
  return [storedText(facts.idempotencyKey), storedText(facts.schedule), JSON.stringify(facts)];
}

/** One array per column of facts; all `null` if no message has facts. */
export function factArrays(messages: readonly { readonly facts?: MessageFacts }[]): (Buffer | null)[] {
  if (!messages.some(({ facts }) => facts)) return [null, null, null];
  const all = messages.map(({ facts }) => storedFacts(facts));
  return [0, 1, 2].map((i) => textArray(all.map((one) => one[i]!)));
}

export const groupArrays = (messages: readonly Pick<OutgoingMessage, 'group' | 'order'>[]): Buffer[] => [
  textArray(messages.map(({ group }) => group && storable(group))),
  textArray(messages.map(({ order }) => order ?? null)),
];
