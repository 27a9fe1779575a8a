/**
 * Transactional enqueue for a queue outside the application's database: messages are written as rows in the application's own
 * transaction, and a relay (relay.ts) moves them to the target.
 */

import { type Clock, systemClock } from '../../core/base/clock.ts';
import { config, shown } from '../../core/base/errors.ts';
import { backendError } from '../../core/base/failure.ts';
import type { DeadLetter, DeadLetters, QueueAdmin } from '../../core/contract/admin.ts';
import type { OutgoingMessage, QueueBackend, SendResult, SqlTransaction } from '../../core/contract/queue.ts';
import { createBring, pendingWith, recordsWith } from './on-the-way.ts';
import { messageOf, refusal, rowOf } from './send.ts';
import type { OutboxBacklog, OutboxTable, RefusedRow } from './table.ts';

/** A backend whose database has an outbox. */
export interface OutboxSource extends QueueBackend {
  readonly outbox: OutboxTable;
  now(tx?: SqlTransaction): Promise<number>;
  migrate(): Promise<{ readonly from: number | null; readonly to: number }>;
}

export interface OutboxOptions {
  /** The target: the queue where the jobs run. */
  readonly to: QueueBackend;
  /**
   * Marks the rows of this target in the database. Must be the same in every process. Set it if two targets are backends of the same
   * kind. @default the name of `to`
   */
  readonly name?: string;
  /** Only for tests. */
  readonly clock?: Clock;
}

/** Like the target, but enqueued jobs go through the outbox. */
export interface Outbox extends QueueBackend {
  readonly source: OutboxSource;
  readonly target: { readonly name: string; readonly backend: QueueBackend };
  enqueueIn(tx: SqlTransaction, messages: readonly OutgoingMessage[]): Promise<SendResult[]>;
  /** The backlog of this target. */
  backlog(): Promise<OutboxBacklog>;
  /** Messages that the target refused. Also listed by `admin.deadLetters`, if the target has `admin`. */
  readonly refused: DeadLetters;
  /** Migrates the tables of the target and of the source. */
  migrate(): Promise<{ readonly from: number | null; readonly to: number }>;
  /** `close()` calls `stop` and waits for it before it closes anything. Returns a function that removes `stop` again. */
  beforeClose(stop: () => Promise<unknown>): () => void;
  /** Stops the relays of this process, then closes the target and the source. */
  close(): Promise<void>;
}

/** Throws `CONFIG` for a source without an outbox or a wrong name. */
export function outbox(source: OutboxSource, options: OutboxOptions): Outbox {
  const { to, name = to.name, clock = systemClock } = options;
  const table = source?.outbox;
  if (typeof table?.write !== 'function') {
    throw config('outbox() expects a backend with an outbox as its first argument, such as postgres(url).');
  }
  if (!/^[\w.-]{1,64}$/.test(name)) {
    throw config(`outbox() expects name to match [A-Za-z0-9_.-]{1,64}, got ${shown(name)}.`);
  }
  const stops = new Set<() => Promise<unknown>>();
  const refused = refusedOf(table, name);
  const bring = createBring(table, name, to, clock);

  async function write(
    messages: readonly OutgoingMessage[],
    tx: SqlTransaction | null,
  ): Promise<SendResult[]> {
    const now = clock.now();
    const results = messages.map((message): SendResult => {
      const error = refusal(message, to.limits, now);
      return error ? { ok: false, id: message.id, error } : { ok: true, id: message.id, duplicate: false };
    });
    const good = messages.filter((_, i) => results[i]!.ok).map(rowOf);
    if (good.length > 0) await table.write(name, good, tx);
    return results;
  }

  return {
    ...to,
    source,
    target: { name, backend: to },
    refused,
    // Not the time of the target, which may be down.
    now: source.now,
    recordsOf: (arrived) =>
      recordsWith(to.recordsOf?.(arrived) ?? arrived, (id) => table.find(name, id), bring),
    ...(to.pending ? { pending: pendingWith(to.pending, bring) } : {}),
    ...(to.admin ? { admin: withRefused(to.admin, refused) } : {}),
    enqueueIn: (tx, messages) => write(messages, tx),
    // Without a transaction, too: a job that is sent directly would overtake jobs in the outbox.
    async enqueue(messages) {
      try {
        return await write(messages, null);
      } catch (cause) {
        const error = backendError('enqueueing', cause);
        return messages.map(({ id }) => ({ ok: false, id, error }));
      }
    },
    backlog: () => table.backlog(name),
    async migrate() {
      await to.stores?.migrate?.();
      return source.migrate();
    },
    beforeClose(stop) {
      stops.add(stop);
      return () => void stops.delete(stop);
    },
    async close() {
      await Promise.all([...stops].map((stop) => stop()));
      try {
        await to.close();
      } finally {
        await source.close();
      }
    },
  };
}

function refusedOf(table: OutboxTable, target: string): DeadLetters {
  return {
    async list({ queue = null, max = 100 }) {
      return (await table.refused(target, queue, max)).map(deadLetterOf);
    },
    retry: (ids) => table.retry(target, ids),
    discard: (ids) => table.discard(target, ids),
  };
}

function deadLetterOf({ id, queue, error, refusedAt, text }: RefusedRow): DeadLetter {
  const message = messageOf(text);
  const { job = '', body = text } = message ?? {};
  return { id, queue, job, reason: 'rejected', error, attempt: 0, diedAt: refusedAt, body };
}

function withRefused(admin: QueueAdmin, refused: DeadLetters): QueueAdmin {
  const { deadLetters } = admin;
  return {
    ...admin,
    deadLetters: {
      async list(filter) {
        const both = [...(await refused.list(filter)), ...(await deadLetters.list(filter))];
        return both.sort((a, b) => b.diedAt - a.diedAt).slice(0, filter.max ?? 100);
      },
      retry: async (ids) => (await refused.retry(ids)) + (await deadLetters.retry(ids)),
      discard: async (ids) => (await refused.discard(ids)) + (await deadLetters.discard(ids)),
    },
  };
}
