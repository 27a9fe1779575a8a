/** The parts of `pg` that are used: connections, pools and prepared statements. */

/** Rows as arrays, in the order of the columns. */
export type Row = readonly unknown[];

interface Answer {
  rows: Record<string, unknown>[];
}

export interface Statement {
  /** Set for a prepared statement. */
  readonly name?: string;
  readonly text: string;
  readonly rowMode: 'array';
}

/** A `pg.PoolClient`. */
export interface PostgresClient {
  query(query: { text: string; values: unknown[]; rowMode: 'array'; query_timeout?: number }): Promise<{
    rows: Row[];
  }>;
  query(query: { text: string; values?: unknown[]; query_timeout: number }): Promise<Answer>;
  query(
    statement: Statement,
    values: unknown[],
    done: (error: Error | null, answer?: { rows: Row[] }) => void,
  ): void;
  query(text: string, values?: unknown[]): Promise<Answer>;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown;
  removeListener(event: 'error', listener: (error?: Error) => void): unknown;
  removeAllListeners(event: string): unknown;
  /** This member and the next exist in newer versions of `pg` only. */
  readonly processID?: number | null;
  /** From the server's last answer: I = no transaction, T = in a transaction, E = in a failed transaction. */
  getTransactionStatus?(): string | null;
  release(destroy?: boolean | Error): void;
}

/** A `pg.Pool`. Works without the types of `pg`. */
export interface PostgresPool {
  connect(): Promise<unknown>;
  end(): Promise<void>;
}

/** The members of a `pg.Pool` that are used. */
export interface Pool {
  connect(): Promise<PostgresClient>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  end(): Promise<void>;
  /** How many callers wait for a connection. */
  readonly waitingCount?: number;
  readonly options?: { readonly max?: number };
}

/** For every statement, also in the user's pool: a statement that is sent into a dead connection is never answered. */
export const queryTimeoutMs = 30_000;

export async function rowsOn(client: PostgresClient, text: string, values: unknown[]): Promise<Row[]> {
  const { rows } = await client.query({ text, values, rowMode: 'array', query_timeout: queryTimeoutMs });
  return rows;
}

/** An error closes the connection, which rolls its transaction back. */
export async function onClient<T>(pool: Pool, use: (client: PostgresClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const broken = () => {}; // the current or next statement fails; without a listener the process would end
  client.on('error', broken);
  try {
    const result = await use(client);
    client.removeListener('error', broken);
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
