/** A database transaction of the caller's: a client of `pg` between BEGIN and COMMIT, or an adapter around another library's. */
export interface SqlTransaction {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}
