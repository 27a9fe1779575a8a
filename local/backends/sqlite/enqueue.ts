/** Writes jobs, in transactions of limited size. */

import type { LongshoreError } from '../../../core/base/errors.ts';
import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { factOf } from './schema.ts';
import type { SqliteState } from './state.ts';

/** More jobs in a transaction would block the event loop and other processes for more than about 10 ms. */
const chunkSize = 1000;

export function createEnqueue(state: SqliteState, maxBodyBytes: number): JobSender['enqueue'] {
  const { db, clock, ageingMs, narrowRows } = state;
  const insert = db.prepare(`
    INSERT INTO jobs (id, queue, job, priority, created_at, ready_at, rank, tenant_id, facts, body, idempotency_key, schedule)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?9, ?10, ${factOf('idempotencyKey', '?9')}, ${factOf('schedule', '?9')})
    ON CONFLICT (id) DO NOTHING`);
  const addQueue = db.prepare('INSERT INTO queues (name) VALUES (?) ON CONFLICT DO NOTHING');
  const knownQueues = new Set<string>();

  function insertOne(message: OutgoingMessage, now: number): SendResult {
    const { id, queue, job, priority, body, notBefore, tenantId, facts, group, order } = message;
    const error = tooLarge(body, maxBodyBytes);
    if (error) return { ok: false, id, error };
    const readyAt = notBefore === null || notBefore < now ? now : notBefore;
    const rank = readyAt + priority * ageingMs;
    const told = facts === undefined ? null : JSON.stringify(facts);
    const { changes, lastInsertRowid } = insert.run(
      id,
      queue,
      job,
      priority,
      now,
      readyAt,
      rank,
      tenantId,
      told,
      body,
    );
    if (group !== null && changes > 0) {
      const row = { seq: Number(lastInsertRowid), queue, rank, readyAt, attempt: 0, interrupted: 0 };
      narrowRows.remove(row); // inserted by a trigger
      narrowRows.groups.add(row.seq, queue, { group, ...(order && { order }) });
      narrowRows.insert(row, now);
    }
    return { ok: true, id, duplicate: changes === 0 };
  }

  function insertChunk(messages: readonly OutgoingMessage[]): SendResult[] {
    const now = clock.now();
    const fresh = new Set<string>();
    for (const { queue } of messages) if (!knownQueues.has(queue)) fresh.add(queue);
    const write = () => {
      for (const queue of fresh) addQueue.run(queue);
      return messages.map((message) => insertOne(message, now));
    };
    try {
      const alone = messages.length === 1 && fresh.size === 0 && messages[0]!.group === null; // a single statement is its own transaction
      const results = alone ? db.run('enqueueing', write) : db.transaction('enqueueing', write);
      for (const queue of fresh) knownQueues.add(queue);
      return results;
    } catch (cause) {
      // The transaction was rolled back with all messages of this chunk.
      const error = cause as LongshoreError;
      return messages.map(({ id }) => ({ ok: false, id, error }));
    }
  }

  return async (messages) => {
    if (messages.length <= chunkSize) {
      const results = insertChunk(messages);
      state.wake();
      return results;
    }
    const results: SendResult[] = [];
    for (let i = 0; i < messages.length; i += chunkSize) {
      for (const result of insertChunk(messages.slice(i, i + chunkSize))) results.push(result);
      state.wake();
      await new Promise(setImmediate);
    }
    return results;
  };
}
