/** Reads a few rows of long tables in the order of an index, whatever the server believes to be in them. */

import { onClient, type Row } from './client.ts';
import { type Database, queryTimeoutMs } from './database.ts';
import { postgresError } from './errors.ts';

/** Of tables without statistics it would read and sort all: it takes them for short. Only of this transaction. */
const begin = `BEGIN READ ONLY; ${['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin']
  .map((way) => `SET LOCAL enable_${way} = off`)
  .join('; ')}; SET LOCAL jit = off`;

export async function readInOrder(db: Database, text: string, values: unknown[]): Promise<Row[]> {
  await db.ready();
  try {
    return await onClient(db.pool, async (client) => {
      await client.query(begin);
      const { rows } = await client.query({ text, values, rowMode: 'array', query_timeout: queryTimeoutMs });
      await client.query('COMMIT');
      return rows;
    });
  } catch (cause) {
    throw postgresError('listing', cause);
  }
}
