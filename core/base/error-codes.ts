/**
 * All error codes of Longshore. `docs/errors.md` explains each; a test keeps the two lists equal. A function that reads no list of codes does not
 * load it at its start.
 */

export const errorCodes = [
  'CONFIG',
  'OPTION',
  'PAYLOAD',
  'ENVELOPE',
  'PAYLOAD_STORE',
  'SIGNATURE',
  'UNKNOWN_KEY',
  'WRONG_QUEUE',
  'EXPIRED',
  'UNKNOWN_JOB',
  'LIMIT',
  'BATCH',
  'QUEUE_FULL',
  'TIMEOUT',
  'CANCELLED',
  'CRASH_LOOP',
  'LEASE_LOST',
  'BACKEND',
  'CORRUPT',
  'STORAGE_FULL',
  'READ_ONLY',
  'SCHEMA_VERSION',
  'HANDLER',
  'REQUEST',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'TOKEN',
  'NOT_FOUND',
  'CONFLICT',
  'RATE_LIMIT',
  'INTERNAL',
] as const;

export type ErrorCode = (typeof errorCodes)[number];
