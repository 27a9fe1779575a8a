/** The queue inside transactions: the application's own, and the transactions that a handler shares with its ack. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import type {
  JobTransaction,
  OutgoingMessage,
  QueueBackend,
  SqlTransaction,
} from '../../../core/contract/queue.ts';
import { type PostgresClient, queryTimeoutMs } from './client.ts';
import type { Database } from './database.ts';
import { sinceOf, sorted, storedFacts } from './enqueue.ts';
import { postgresError, sqlState } from './errors.ts';
import type { Leases } from './leases.ts';
import { schemaVersion, seeNewSchemas } from './schema.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

type Transactions = Required<Pick<QueueBackend, 'now' | 'enqueueIn' | 'begin'>>;

/**
 * Connections that the transactions of handlers leave free: one listens, and one renews leases and serves other queries of handlers.
 * If transactions took all connections, handlers that need another one would wait for each other.
 */
const sparedConnections = 2;

export function createTransactions(state: PostgresState, leases: Leases, maxBodyBytes: number): Transactions {
  const { db, ageingMs, channel } = state;
  const s = db.schema;
  // One text parameter, because drivers pass arrays differently.
  const enqueueing = (name: string, more = '') => `
    SELECT ${s}.${name}(r.at, r.ageing, r.since, '{}', r.ids, r.queues, r.names, r.tenants, r.priorities, r.delays, r.bodies,
      r.keys, r.schedules, r.facts, r.channel, r.notified${more}) AS copies
    FROM json_to_record($1::text::json) AS r (at bigint, ageing bigint, since bigint, ids text[], queues text[], names text[],
      tenants text[], priorities int[], delays bigint[], bodies text[], keys text[], schedules text[], facts text[], channel text,
      notified text[], groups text[], orders text[])`;
  const sql = {
    plain: enqueueing('enqueue'),
    grouped: enqueueing('enqueue_grouped', ', r.groups, r.orders, true'),
  };
  const check = createTransactionCheck(db);
  const slots = createSlots(Math.max(1, db.connections - sparedConnections));

  function requestOf(messages: readonly OutgoingMessage[], queues: readonly string[]): string {
    const facts = messages.map((message) => storedFacts(message.facts));
    return JSON.stringify({
      at: state.at(),
      ageing: ageingMs,
      since: sinceOf(messages),
      ids: messages.map(({ id }) => id),
      queues: messages.map(({ queue }) => queue),
      names: messages.map(({ job }) => job),
      tenants: messages.map(({ tenantId }) => tenantId),
      priorities: messages.map(({ priority }) => priority),
      delays: messages.map((message) => state.delayOf(message)),
      bodies: messages.map(({ body }) => body),
      keys: facts.map(([key]) => key),
      schedules: facts.map(([, schedule]) => schedule),
      facts: facts.map(([, , text]) => text),
      channel,
      notified: channel === null ? [] : queues,
      groups: messages.map(({ group }) => group),
      orders: messages.map(({ order }) => order ?? null),
    });
  }

  /**
   * Lists new queues, outside the caller's transaction: an uncommitted row would block every other enqueue to the queue, also by the
   * same handler outside of `ctx.tx`. It is not awaited, because it needs another connection.
   */
  function list(queues: readonly string[]): void {
    const fresh = queues.filter((queue) => !state.knownQueues.has(queue));
    if (fresh.length === 0) return;
    const insert = `INSERT INTO ${s}.queues (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING`;
    db.query('listing queues', insert, [fresh]).then(
      () => fresh.forEach((queue) => void state.knownQueues.add(queue)),
      () => {}, // the next enqueue lists them
    );
  }

  return {
    async now(tx) {
      const text = `SELECT ${timeOf('$1')}::text AS now`;
      if (tx === undefined) return Number((await db.query('reading the time', text, [state.at()]))[0]![0]);
      try {
        const { rows } = await tx.query(text, [state.at()]);
        return Number((rows[0] as { now: string }).now);
      } catch (cause) {
        throw postgresError('reading the time in your transaction', cause);
      }
    },

    async enqueueIn(tx, messages) {
      const { results, good, indexes } = sorted(messages, maxBodyBytes);
      if (good.length === 0) return results;
      await check(tx);
      try {
        const queues = [...new Set(good.map(({ queue }) => queue))];
        const text = good.some(({ group }) => group !== null) ? sql.grouped : sql.plain;
        const { rows } = await tx.query(text, [requestOf(good, queues)]);
        list(queues);
        const copies = new Set((rows[0] as { copies: number[] | null }).copies);
        for (const [i, { id }] of good.entries())
          results[indexes[i]!] = { ok: true, id, duplicate: copies.has(i + 1) };
      } catch (cause) {
        throw postgresError('enqueueing in your transaction', cause);
      }
      return results;
    },

    async begin() {
      await db.ready();
      await slots.acquire();
      let client: PostgresClient;
      try {
        client = await db.pool.connect();
      } catch (cause) {
        slots.release();
        throw postgresError('beginning a transaction', cause);
      }
      return openTransaction(client, db, leases, slots.release);
    },
  };
}

/** At most `count` at a time, first come, first served. */
function createSlots(count: number) {
  const waiting: (() => void)[] = [];
  let free = count;
  return {
    async acquire(): Promise<void> {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => void waiting.push(resolve));
    },
    release(): void {
      const next = waiting.shift();
      if (next) next();
      else free++;
    },
  };
}

/** If the rollback takes longer, the connection is closed. */
const rollbackTimeoutMs = 5_000;

/** Matches a statement that begins with one of these words. */
const beginsWith = (words: string): RegExp =>
  new RegExp(String.raw`^(?:\s|--[^\n]*\n|/\*.*?\*/)*(${words})\b`, 'is');

/** Statements that end a transaction; `ROLLBACK TO` a savepoint does not. */
const ending = beginsWith(
  String.raw`begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!(\s+(work|transaction))?\s+to\b)`,
);

/** Statements whose effect on the session outlives the transaction. Settings that functions make are not detected. */
const lasting = [
  beginsWith(
    String.raw`set(?!\s+(local|constraints|transaction)\b)|reset|listen|prepare|load|create\s+((local|global)\s+)?temp(orary)?(?!.*\bon\s+commit\s+drop\b)`,
  ),
  /\bset_config\s*\(/i,
];

/**
 * The handler never gets the client itself: a handler that goes on after its attempt must not write into another transaction.
 *
 * @param released called when the connection is back in the pool, or closed
 */
async function openTransaction(
  client: PostgresClient,
  db: Database,
  leases: Leases,
  released: () => void,
): Promise<JobTransaction> {
  let over = false;
  /** Number of unanswered statements of the handler. */
  let open = 0;
  /** Ends with the last of these statements. They are sent one at a time, because `pg` will no longer queue them itself. */
  let last: Promise<unknown> = Promise.resolve();

  /** Why the connection was lost: the error of the next statement does not say why. */
  let loss: Error | undefined;
  const broken = (error?: Error) => {
    loss ??= error;
  };

  /** Whether the handler has changed the session, so that it must not serve another transaction. */
  let isChanged = false;
  // Sent with the statement that ends the transaction. Settings that the application makes in its own pool must stay.
  const tidy = `${db.ownsPool ? 'RESET ALL; ' : ''}SELECT pg_advisory_unlock_all()`;

  function end(destroy: boolean): void {
    over = true;
    client.release(destroy);
    if (!destroy) client.removeListener('error', broken);
    released();
  }

  /** An error of the handler if it has idled for too long, otherwise of the server. `null` = no failure. */
  function failureOf(during: string, cause?: unknown): LongshoreError | null {
    const idled = [loss, cause].find((one) => sqlState(one) === idledTooLong);
    if (idled) return lost(idled);
    const error = loss ?? cause;
    return error === undefined ? null : postgresError(during, error);
  }

  /** One statement of our own. An error closes the connection, which rolls the transaction back. */
  async function run<T>(during: string, statement: () => Promise<T>): Promise<T> {
    try {
      return await statement();
    } catch (cause) {
      end(true);
      if (isRefusal(cause)) throw refused(toError(cause).message, cause);
      throw failureOf(during, cause);
    }
  }

  const send = (text: string, timeoutMs = queryTimeoutMs) =>
    client.query({ text, query_timeout: timeoutMs }) as Promise<unknown>;

  /** Returns the command that the server has run: COMMIT of a failed transaction rolls back. */
  async function finish(statement: 'COMMIT' | 'ROLLBACK', timeoutMs = queryTimeoutMs): Promise<string> {
    const [result] = (await send(`${statement}; ${tidy}`, timeoutMs)) as [{ command: string }];
    return result.command;
  }

  async function handlersQuery(text: string, values?: unknown[]) {
    if (over) throw ended();
    const found = ending.exec(text)?.[1];
    if (found !== undefined) {
      throw new LongshoreError(
        'OPTION',
        `Expected statements between BEGIN and COMMIT, got ${found.toUpperCase()}. Return to commit, throw to roll back; savepoints work.`,
      );
    }
    isChanged ||= lasting.some((pattern) => pattern.test(text));
    return client.query(text, values);
  }

  /** Waits for the statements of the handler, and commits if `statements` resolves with `true`. */
  async function commit(during: string, statements: () => Promise<boolean>): Promise<boolean> {
    await last; // also for a statement that the handler did not await
    if (over) throw ended();
    const gone = failureOf(during);
    if (gone) {
      end(true);
      throw gone;
    }
    over = true; // first: a later statement of the handler could fail, and undo an ack that was answered
    const agreed = await run(during, async () => {
      if (sql.getTransactionStatus() === 'I') throw refused('the handler has ended it by itself');
      return statements();
    });
    const command = await run('committing', () => finish(agreed ? 'COMMIT' : 'ROLLBACK'));
    end(isChanged);
    if (agreed && command === 'ROLLBACK') throw refused('a statement has failed');
    return agreed;
  }

  client.on('error', broken);
  await run('beginning a transaction', () => send('BEGIN'));

  const sql: SqlTransaction & { getTransactionStatus(): string | null } = {
    getTransactionStatus: () => client.getTransactionStatus?.() ?? null,
    query(text, values) {
      open++;
      const answer = last.then(() => handlersQuery(text, values)).finally(() => void open--);
      last = answer.catch(() => {});
      return answer;
    },
  };

  const inside: SqlTransaction = {
    query: (text, values = []) => client.query({ text, values, query_timeout: queryTimeoutMs }),
  };

  return {
    sql,
    async ack(ack) {
      let committed = () => {};
      const settled = await commit('settling', async () => {
        const answer = await leases.ackIn(client, ack);
        committed = answer.committed;
        return answer.settled;
      });
      if (settled) committed();
      return settled;
    },
    commit: (lease, last) =>
      commit('committing a step', async () => (await leases.holdsIn(client, lease)) && last(inside)),
    async rollback() {
      if (over) return;
      over = true;
      // A running statement may hold the connection and its locks for long, so it is cancelled on the server.
      if (open > 0) {
        const pid = client.processID;
        end(true);
        if (typeof pid === 'number')
          db.query('cancelling', 'SELECT pg_cancel_backend($1)', [pid]).catch(() => {});
        return;
      }
      try {
        await finish('ROLLBACK', rollbackTimeoutMs);
        end(isChanged);
      } catch {
        end(true);
      }
    },
  };
}

/**
 * Whether the server has refused to commit, so that everything is rolled back for sure. After a failure of the server or the connection
 * that is unknown.
 */
function isRefusal(cause: unknown): boolean {
  return (
    (cause as { severity?: unknown } | null)?.severity === 'ERROR' &&
    !/^(25006|5[378]|XX)/.test(sqlState(cause))
  );
}

const ended = (): LongshoreError =>
  new LongshoreError('LEASE_LOST', 'The attempt and its transaction are over.');

/** The server has ended the idle session of a handler before its commit, so everything is rolled back for sure. */
const idledTooLong = '25P03';

const lost = (loss: unknown): LongshoreError =>
  refused(postgresError('the run of the handler', loss).message.replace(/\.$/, ''), loss);

/** Fails the attempt as if its handler had thrown. */
function refused(why: string, cause?: unknown): LongshoreError {
  return new LongshoreError('HANDLER', `The handler's transaction was rolled back: ${why}.`, { cause });
}

type TransactionClient = SqlTransaction & Pick<PostgresClient, 'getTransactionStatus'>;

/**
 * Checks a caller's transaction before anything is written in it. Throws `OPTION` for a `tx` outside a transaction, because there each
 * statement commits by itself. Throws the errors of `Database.ready` too.
 */
export function createTransactionCheck(db: Database): (tx: TransactionClient) => Promise<void> {
  const s = db.schema;
  let ready = false;

  /** Reads the version in the transaction itself: the pool may have no connection left if all transactions wait here. */
  async function current(tx: SqlTransaction): Promise<boolean> {
    const found = await tx.query('SELECT to_regclass($1) IS NOT NULL AS found', [`${s}.longshore`]);
    if (!(found.rows[0] as { found: boolean }).found) return false;
    const { rows } = await tx.query(`SELECT version FROM ${s}.longshore`);
    return Number((rows[0] as { version: number } | undefined)?.version) === schemaVersion;
  }

  return async (tx) => {
    try {
      if (!ready && !(await current(tx))) {
        await db.ready();
        await tx.query(seeNewSchemas);
      }
      ready = true;
      // LOCK TABLE works in a transaction only, and this lock blocks nothing but dropping the table.
      if (tx.getTransactionStatus?.() !== 'T')
        await tx.query(`LOCK TABLE ${s}.longshore IN ACCESS SHARE MODE`);
    } catch (cause) {
      const isOutside = sqlState(cause) === '25P01';
      if (!isOutside) throw postgresError('joining your transaction', cause);
      const expected =
        'Expected tx to be in a transaction, got one outside. Pass it between BEGIN and COMMIT.';
      throw new LongshoreError('OPTION', expected, { cause });
    }
  };
}
