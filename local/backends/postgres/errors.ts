import { type ErrorCode, LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';

/** Codes of Postgres (https://www.postgresql.org/docs/current/errcodes-appendix.html) as error codes and advice. */
const meanings: Readonly<Record<string, readonly [code: ErrorCode, advice: string]>> = {
  '28000': ['CONFIG', 'Check the user and password in the URL.'],
  '28P01': ['CONFIG', 'Check the user and password in the URL.'],
  '3D000': ['CONFIG', 'Create the database, or correct its name in the URL.'],
  '22P05': ['CONFIG', 'Create the database with ENCODING UTF8: its encoding lacks a character.'],
  '42501': ['CONFIG', 'Grant this user the rights on the schema, or run `longshore migrate` as its owner.'],
  '3F000': ['SCHEMA_VERSION', 'Run `longshore migrate`.'],
  '42P01': ['SCHEMA_VERSION', 'Run `longshore migrate`.'],
  '42883': ['SCHEMA_VERSION', 'Run `longshore migrate`.'],
  '25P01': ['OPTION', 'Pass a client between its BEGIN and its COMMIT as `tx`.'],
  '25P02': ['OPTION', 'Roll the transaction back: an earlier statement of it has failed.'],
  '25P03': ['BACKEND', 'Make the handler faster, or raise idle_in_transaction_session_timeout.'],
  '53300': ['BACKEND', 'Raise max_connections of the server, or lower those of the pools.'],
  '57014': ['BACKEND', 'If this goes on, raise statement_timeout for this user.'],
  ECONNREFUSED: ['BACKEND', 'Check that the server runs, and its host and port.'],
  ENOTFOUND: ['BACKEND', 'Check the name of the host.'],
  '53100': ['STORAGE_FULL', 'Free disk space on the database server.'],
  '25006': ['READ_ONLY', 'Connect to the primary, not to a standby.'],
};

/** Turns a driver's error into a LongshoreError. Messages of the server and the driver contain no passwords or payloads. */
export function postgresError(during: string, cause: unknown): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const { message } = toError(cause);
  const [code, advice] = meanings[sqlState(cause)] ?? (['BACKEND', ''] as const);
  const text = `Postgres failed during ${during}: ${message || sqlState(cause)}`;
  const sentence = /[.!?]$/.test(text) ? text : `${text}.`;
  return new LongshoreError(code, advice === '' ? sentence : `${sentence} ${advice}`, { cause });
}

/** Whether the server has undone the statement because of a conflict with another one. It may be repeated. */
export function isUndone(error: unknown): boolean {
  return /^40(001|P01)$/.test(sqlState(error));
}

/** Whether the prepared statement is unknown to the server, or its name is taken. The statement has not run. */
export function isUnprepared(error: unknown): boolean {
  return ['26000', '42P05'].includes(sqlState(error));
}

/** Whether a row with this key already exists. */
export function isCopy(error: unknown): boolean {
  return sqlState(error) === '23505';
}

export function sqlState(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Whether the statement was refused because of its data. It may work without the bad message. */
export function isAboutData(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error));
}
