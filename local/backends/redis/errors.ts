import { type ErrorCode, LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';

/** Signs in errors of Redis or of its connection, and what they mean. */
const meanings: readonly (readonly [sign: RegExp, code: ErrorCode, advice: string])[] = [
  [
    /\bOOM\b/,
    'STORAGE_FULL',
    'Raise maxmemory, or let workers drain the queue: workers still fetch and settle.',
  ],
  [/\bMISCONF\b/, 'STORAGE_FULL', 'Redis cannot write to its disk: free space there, and read its log.'],
  [/\bREADONLY\b/, 'READ_ONLY', 'Connect to the primary, not to a replica.'],
  [/\b(NOAUTH|WRONGPASS)\b/, 'CONFIG', 'Check the user and password in the URL.'],
  [/\bNOPERM\b/, 'CONFIG', 'Grant this user the keys, channels and commands that docs/backends.md lists.'],
  [/\b(CROSSSLOT|MOVED|CLUSTERDOWN)\b/, 'CONFIG', 'Connect to a server that is not part of a Redis Cluster.'],
  [/\bWRONGTYPE\b/, 'CORRUPT', 'Something else writes to these keys: give each program a prefix of its own.'],
  [/\bBUSY\b/, 'BACKEND', 'A script of another program keeps Redis busy; SCRIPT KILL ends it.'],
  [/\bLOADING\b/, 'BACKEND', 'Redis is reading its data and will be ready soon.'],
  [/\bECONNREFUSED\b/, 'BACKEND', 'Check that the server runs, and its host and port.'],
  [/\bENOTFOUND\b/, 'BACKEND', 'Check the name of the host.'],
];

/** A driver's error as ours. Messages of the server and the driver hold no password and no payload. */
export function redisError(during: string, cause: unknown): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const text = textOf(cause);
  const [, code, advice] = meanings.find(([sign]) => sign.test(text)) ?? [null, 'BACKEND' as const, ''];
  const whole = `Redis failed during ${during}: ${text}`;
  const sentence = /[.!?]$/.test(whole) ? whole : `${whole}.`;
  return new LongshoreError(code, advice === '' ? sentence : `${sentence} ${advice}`, { cause });
}

function textOf(cause: unknown): string {
  const { message } = toError(cause);
  const { code } = (cause ?? {}) as { code?: unknown };
  return message || (typeof code === 'string' ? code : 'the connection was lost');
}

/** Redis has lost the script: it was restarted, or its scripts were flushed. */
export const isUnknownScript = (error: unknown): boolean => /^NOSCRIPT\b/.test(textOf(error));

/** The server has become a replica: only a new connection finds the primary. */
export const isReadOnly = (error: unknown): boolean => /\bREADONLY\b/.test(textOf(error));

/** The user lacks the right to this command, or a hosted server does not have it. */
export const isRefused = (error: unknown): boolean => /\bNOPERM\b|unknown command/i.test(textOf(error));
