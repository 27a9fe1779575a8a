/** Error answers, as problem documents (RFC 9457). */

import { type ErrorCode, LongshoreError, type PayloadIssue } from '../../base/errors.ts';
import type { NoAnswerError } from '../../routing/each.ts';

export interface RefusalDetails {
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
  readonly issues?: readonly PayloadIssue[];
  /** More members of the problem document. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** May be thrown anywhere while a request is handled. `message` is the document's `detail`. */
export class Refusal extends LongshoreError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(status: number, code: ErrorCode, message: string, details: RefusalDetails = {}) {
    const { headers = {}, extra = {}, ...options } = details;
    super(code, message, options);
    this.status = status;
    this.headers = headers;
    this.extra = extra;
  }
}

/** Sent if the queue is full or does not answer. */
const retryAfter = { 'retry-after': '5' };

/** Statuses of errors that the caller can fix. Every other error is a failure of the server. */
const callersFault: Partial<Readonly<Record<ErrorCode, number>>> = {
  OPTION: 400,
  UNKNOWN_JOB: 404,
  LIMIT: 413,
  PAYLOAD: 422,
  QUEUE_FULL: 429,
};

const storageFaults: readonly ErrorCode[] = [
  'BACKEND',
  'CORRUPT',
  'STORAGE_FULL',
  'READ_ONLY',
  'SCHEMA_VERSION',
];

/** Turns any thrown value into an answer. It hides internal causes, because they contain paths and host names. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (!(error instanceof LongshoreError)) return internal(error);
  const { code, message, issues } = error;
  const status = callersFault[code];
  if (status !== undefined) {
    const detail = issues ? `${message} The schema is in GET /openapi.json.` : message;
    return new Refusal(status, code, detail, {
      cause: error,
      ...(issues && { issues }),
      ...(status === 429 && { headers: retryAfter }),
    });
  }
  if (!storageFaults.includes(code)) return internal(error);
  const detail =
    'Expected the queue to answer, but it failed. Repeat the request later, an enqueue with the same Idempotency-Key.';
  const { unavailable } = error as Partial<NoAnswerError>;
  const extra = unavailable && {
    extra: { unavailable: unavailable.map(({ backend, code }) => ({ backend, code })) },
  };
  return new Refusal(503, code, detail, { headers: retryAfter, cause: error, ...extra });
}

function internal(cause: unknown): Refusal {
  const detail =
    'The endpoint failed. Its log has the cause: report the requestId of this answer to its operator.';
  return new Refusal(500, 'INTERNAL', detail, { cause });
}

const titles: Partial<Readonly<Record<ErrorCode, string>>> = {
  OPTION: 'An option is wrong',
  PAYLOAD: 'The payload does not fit the job',
  UNKNOWN_JOB: 'No such job',
  LIMIT: 'Too large',
  QUEUE_FULL: 'The queue is full',
  REQUEST: 'The request cannot be taken as it is',
  UNAUTHORIZED: 'A credential is needed',
  FORBIDDEN: 'Not allowed',
  NOT_FOUND: 'Nothing is here',
  CONFLICT: 'Too late',
  RATE_LIMIT: 'Too many requests',
  INTERNAL: 'The endpoint failed',
};

export function problemOf(refusal: Refusal): Record<string, unknown> {
  const { status, code, message, issues, extra } = refusal;
  return {
    type: `urn:longshore:error:${code}`,
    title: titles[code] ?? 'The queue is not available',
    status,
    detail: message,
    code,
    ...(issues && { errors: issues }),
    ...extra,
  };
}
