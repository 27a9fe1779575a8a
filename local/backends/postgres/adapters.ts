/**
 * Turns transactions of query builders and ORMs into the `tx` of `enqueue()`. The libraries' types are described here, so that none
 * of them has to be installed.
 */

import { LongshoreError, shown } from '../../../core/base/errors.ts';
import type { SqlTransaction } from '../../../core/contract/queue.ts';

/** The `tx` of Drizzle's `db.transaction(async (tx) => …)`. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>;
}

/** The `trx` of Kysely's `db.transaction().execute(async (trx) => …)`. */
export interface KyselyTransaction {
  executeQuery(query: never): Promise<{ rows: unknown[] }>;
}

/** The `tx` of Prisma's `prisma.$transaction(async (tx) => …)`. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

/** For Drizzle on node-postgres or another Postgres driver. */
export function drizzleTx(tx: DrizzleTransaction): SqlTransaction {
  check('drizzleTx', 'execute', tx);
  return {
    async query(text, values = []) {
      // Drizzle's `sql` without its library: `execute` only needs the text and the parameters of a query.
      const query = { getSQL: () => ({ toQuery: () => ({ sql: text, params: values }) }) };
      try {
        const result = await tx.execute(query as never);
        return Array.isArray(result) ? { rows: result } : (result as { rows: unknown[] });
      } catch (error) {
        // Drizzle's own error repeats all parameters, which are payloads. The driver's error is its cause.
        throw (error as Error | null)?.cause ?? error;
      }
    },
  };
}

export function kyselyTx(trx: KyselyTransaction): SqlTransaction {
  check('kyselyTx', 'executeQuery', trx);
  return {
    query(text, values = []) {
      // The same as Kysely's `CompiledQuery.raw` returns.
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

/** The database's own error, inside Prisma's "raw query failed". Prisma 7 nests it deeper than Prisma 6. */
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
    `${adapter}() expects the library's own transaction, got ${shown(tx)}. Pass the argument of its callback.`,
  );
}
