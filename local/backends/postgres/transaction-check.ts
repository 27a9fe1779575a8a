/** What must be true of a caller's transaction before anything is written in it. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { SqlTransaction } from '../../../core/contract/queue.ts';
import type { PostgresClient } from './client.ts';
import type { Database } from './database.ts';
import { postgresError, sqlState } from './errors.ts';
import { seeNewSchemas } from './migrate.ts';
import { schemaVersion } from './schema.ts';

type TransactionClient = SqlTransaction & Pick<PostgresClient, 'getTransactionStatus'>;

/**
 * Throws `OPTION` for a `tx` outside a transaction, because there each statement commits by itself; and what
 * `Database.ready` throws.
 */
export function createTransactionCheck(db: Database): (tx: TransactionClient) => Promise<void> {
  const s = db.schema;
  let ready = false;

  /** Reads the version in the transaction itself: the pool may have no connection left, when all are in transactions that wait here. */
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
