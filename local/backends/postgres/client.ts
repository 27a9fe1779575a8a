/** What is used of `pg`: connections, pools and prepared statements, described by their shape. */

/** Rows as arrays, in the order of the columns. */
export type Row = readonly unknown[];

interface Answer {
  rows: Record<string, unknown>[];
}

export interface Statement {
  /** Of a prepared statement. */
  readonly name?: string;
  readonly text: string;
  readonly rowMode: 'array';
}

/** What is used of a `pg.PoolClient`. */
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
  /** Both are known to newer versions of `pg`. */
  readonly processID?: number | null;
  /** From the server's last answer: I = in no transaction, T = in one, E = in one that has failed. */
  getTransactionStatus?(): string | null;
  release(destroy?: boolean | Error): void;
}

/** A `pg.Pool`. Described by its shape, so that a program without its types compiles. */
export interface PostgresPool {
  connect(): Promise<unknown>;
  end(): Promise<void>;
}

/** What is used of one. */
export interface Pool {
  connect(): Promise<PostgresClient>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  end(): Promise<void>;
  /** How many wait for a connection. */
  readonly waitingCount?: number;
  readonly options?: { readonly max?: number };
}

/** Of every statement, also in the user's pool: one that is sent into a dead connection is never answered. */
export const queryTimeoutMs = 30_000;

export async function rowsOn(client: PostgresClient, text: string, values: unknown[]): Promise<Row[]> {
  const { rows } = await client.query({ text, values, rowMode: 'array', query_timeout: queryTimeoutMs });
  return rows;
}

/** An error closes the connection, and with it the transaction that it was in. */
export async function onClient<T>(pool: Pool, use: (client: PostgresClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const broken = () => {}; // the current or the next statement fails; without a listener the process would end
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
