/** What queue and store of the examples share: where they are, and what the environment says. */

import type { KeyStore } from '../core/contract/store.ts';
import { LongshoreError } from '../core/index.ts';

export interface OpenOptions {
  /** Where a backend that keeps a file puts it. */
  readonly path: string;
  /** Where a backend in a database puts its tables, or what the keys of one in Redis begin with. @default 'longshore' */
  readonly schema?: string;
  /** What stands before the names of queues that a broker shares with others. @default 'longshore-' */
  readonly prefix?: string;
  /** Whether what an earlier run has left there is removed. */
  readonly fresh?: boolean;
  /** Where a broker without state of its own notes what it is about to do. */
  readonly keys?: KeyStore | undefined;
}

export const backendName = (): string => process.env.LONGSHORE_BACKEND || 'sqlite';

export const config = (message: string): LongshoreError => new LongshoreError('CONFIG', message);

export function databaseUrl(): string {
  const url = process.env.DATABASE_URL;
  if (url) return url;
  throw config('Expected DATABASE_URL to be postgres://user:password@host/database, got nothing.');
}

export async function dropSchema(url: string, schema: string): Promise<void> {
  const { default: pg } = await import('pg');
  const client = new pg.Client(url);
  try {
    await client.connect();
    await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  } catch (cause) {
    throw config(`Expected the database of DATABASE_URL to answer, got: ${(cause as Error).message}`);
  } finally {
    await client.end().catch(() => {});
  }
}
