/**
 * Transactions of query builders and ORMs, as the `tx` of `enqueue()`. The libraries are described by their shape, so that none has
 * to be installed.
 */

import { LongshoreError, shown } from '../../../core/base/errors.ts';
import type { SqlTransaction } from '../../../core/contract/queue.ts';

/** What is used of the `tx` in Drizzle's `db.transaction(async (tx) => …)`. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>;
}

/** What is used of the `trx` in Kysely's `db.transaction().execute(async (trx) => …)`. */
export interface KyselyTransaction {
  executeQuery(query: never): Promise<{ rows: unknown[] }>;
}

/** What is used of the `tx` in Prisma's `prisma.$transaction(async (tx) => …)`. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

/** For Drizzle on node-postgres, or another of its Postgres drivers. */
export function drizzleTx(tx: DrizzleTransaction): SqlTransaction {
  check('drizzleTx', 'execute', tx);
  return {
    async query(text, values = []) {
      // Drizzle's `sql` without its library: what `execute` asks of a query is its text and its parameters.
      const query = { getSQL: () => ({ toQuery: () => ({ sql: text, params: values }) }) };
      try {
        const result = await tx.execute(query as never);
        return Array.isArray(result) ? { rows: result } : (result as { rows: unknown[] });
      } catch (error) {
        // Drizzle's own error repeats all parameters, which are payloads; the driver's is inside.
        throw (error as Error | null)?.cause ?? error;
      }
    },
  };
}

export function kyselyTx(trx: KyselyTransaction): SqlTransaction {
  check('kyselyTx', 'executeQuery', trx);
  return {
    query(text, values = []) {
      // What Kysely's `CompiledQuery.raw` makes.
      const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] };
      const compiled = { sql: text, parameters: values, query, queryId: { queryId: 'longshore' } };
      return trx.executeQuery(compiled as never);
    },
  };
}

export function prismaTx(tx: PrismaTransaction): SqlTransaction {
  check('prismaTx', '$queryRawUnsafe', tx);
  return {
    async query(text, values = []) {
      try {
        return { rows: (await tx.$queryRawUnsafe(text, ...values)) as unknown[] };
      } catch (error) {
        throw databaseError(error) ?? error;
      }
    },
  };
}

/** Prisma's own code says that a raw query failed; the database's says why. Prisma 7 keeps it deeper than 6 did. */
function databaseError(error: unknown): Error | null {
  const { meta } = (error ?? {}) as { meta?: PrismaMeta };
  const code = meta?.driverAdapterError?.cause?.originalCode ?? meta?.code;
  const message = meta?.driverAdapterError?.cause?.originalMessage ?? meta?.message;
  return code === undefined ? null : Object.assign(new Error(message, { cause: error }), { code });
}

interface PrismaMeta {
  readonly driverAdapterError?: {
    readonly cause?: { readonly originalCode?: string; readonly originalMessage?: string };
  };
  readonly code?: string;
  readonly message?: string;
}

function check(adapter: string, verb: string, tx: object): void {
  if (typeof (tx as Record<string, unknown> | null)?.[verb] === 'function') return;
  throw new LongshoreError(
    'OPTION',
    `${adapter}() expects the library's own transaction, got ${shown(tx)}. Pass what its callback is given.`,
  );
}
