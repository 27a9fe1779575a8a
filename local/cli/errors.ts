/** Errors of the command line: a code, a message and an exit code. */

import { errorCodes } from '../../core/base/error-codes.ts';
import { toError } from '../../core/base/failure.ts';
import { withoutCredentials } from '../../core/base/mask.ts';

/** 0 = done, 1 = failed, 2 = wrong command line, 3 = not found. */
export type ExitCode = 0 | 1 | 2 | 3;

/** Codes of the command line itself. Every code of docs/errors.md can appear too. */
export const cliCodes = ['USAGE', 'CONFIRM', 'NOT_FOUND', 'UNSUPPORTED', 'BUSY', 'INTERNAL'] as const;
type CliCode = (typeof cliCodes)[number] | 'CONFIG';

export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: CliCode;
  readonly exit: ExitCode;

  constructor(code: CliCode, exit: ExitCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.exit = exit;
  }
}

export const usage = (message: string): CliError => new CliError('USAGE', 2, message);
export const wrongConfig = (message: string): CliError => new CliError('CONFIG', 2, message);
export const unsupported = (message: string): CliError => new CliError('UNSUPPORTED', 1, message);
export const notFound = (message: string): CliError => new CliError('NOT_FOUND', 3, message);

/** Codes of errors in the caller's values. Nothing was done. */
const wrongValues = ['PAYLOAD', 'OPTION', 'LIMIT', 'UNKNOWN_JOB'];

export function explain(error: unknown): { code: string; message: string; exit: ExitCode } {
  if (error instanceof CliError) {
    return { code: error.code, message: withoutCredentials(error.message), exit: error.exit };
  }
  const code = longshoreCode(error);
  const message = withoutCredentials(messageOf(error));
  if (code !== null)
    return { code, message, exit: code === 'NOT_FOUND' ? 3 : wrongValues.includes(code) ? 2 : 1 };
  const next = 'Set LONGSHORE_DEBUG=1 to see where it comes from.';
  return { code: 'INTERNAL', message: `${message.replace(/\.?$/, '.')} ${next}`, exit: 1 };
}

/** Compares the name and not the class, because the app may use another copy of Longshore than this command. */
export function longshoreCode(error: unknown): string | null {
  if (!(error instanceof Error) || error.name !== 'LongshoreError' || !('code' in error)) return null;
  return errorCodes.find((code) => code === error.code) ?? null;
}

export function messageOf(error: unknown): string {
  const { message, name } = toError(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return message || code || name; // a refused connection is an AggregateError without a message
}
