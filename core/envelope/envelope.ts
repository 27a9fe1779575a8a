/**
 * The envelope: one JSON text for every backend, signed over its raw characters and verified before it is parsed.
 * `docs/envelope.md` specifies it byte by byte.
 */

import { LongshoreError, shown } from '../base/errors.ts';
import { assertJson, isStorable } from '../base/json.ts';
import { type ChainMember, isChainOrNull } from './chain.ts';
import { type KeyRing, kidPattern } from './signing.ts';

export interface JobContext {
  readonly tenantId?: string;
  readonly actorId?: string;
  readonly requestId?: string;
  /** W3C Trace Context. */
  readonly traceparent?: string;
}

export const contextMembers = ['tenantId', 'actorId', 'requestId', 'traceparent'] as const;

/** Where the payload is that was too large for the queue. */
export interface OffloadedPayload {
  readonly key: string;
  /** Its length. */
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** Instead of a payload that is gone because its job is done. */
export const alreadyDone = Symbol('already done');

export interface Envelope {
  readonly v: 1;
  readonly job: string;
  readonly payload: unknown;
  readonly queue: string;
  readonly priority: number;
  readonly maxRetries: number;
  /** Finished attempts before this copy of the message. */
  readonly attempts: number;
  /** A label for people, for example the schedule that caused the job. */
  readonly name: string | null;
  readonly identifier: string;
  readonly idempotencyKey: string | null;
  /** Not to be run before this moment (epoch ms). */
  readonly schedule: number | null;
  readonly issuedAt: number;
  /** Not to be run from this moment on (epoch ms). */
  readonly expiresAt: number | null;
  readonly context: JobContext | null;
  /** The payload is kept beside the queue; `payload` is then null. */
  readonly claim?: OffloadedPayload | null;
  /** The links of the chain that the job is one of. */
  readonly chain?: ChainMember | null;
  /** The batch that the job is a child of wants to know what it returns. */
  readonly results?: true;
  /** How many children of the job's batch run at the same time; 0 = no limit. */
  readonly concurrency?: number | null;
}

/** `,"_sig":"` + 64 hex digits + `"}`: the last 75 characters of a signed envelope. */
const signatureLength = 75;
const beforeSignature = ',"_sig":"';
const hex64 = /^[0-9a-f]{64}$/;
const beforeKid = ',"kid":"';

export interface ReadOptions {
  readonly ring: KeyRing;
  readonly now: number;
  readonly maxBytes: number;
}

/**
 * Verifies and parses, in that order. Throws `LIMIT`, `SIGNATURE`, `UNKNOWN_KEY`, `ENVELOPE` or `PAYLOAD`.
 * Does not look at queue or expiry: those depend on where and when the text is used.
 */
export function readEnvelope(text: string, { ring, now, maxBytes }: ReadOptions): Envelope {
  // A UTF-16 unit is at least one byte in UTF-8, so counting bytes is only needed near the limit.
  if (text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes)) {
    throw new LongshoreError('LIMIT', `Expected an envelope of at most ${maxBytes} bytes, got more.`);
  }
  verifyText(text, ring, now);
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (cause) {
    throw new LongshoreError('ENVELOPE', 'Expected a JSON envelope, got text that does not parse.', {
      cause,
    });
  }
  return checkShape(data);
}

/**
 * Throws `SIGNATURE` or `UNKNOWN_KEY`. Returns the `kid`; `null` = the text has no signature, and the ring accepts that.
 *
 * @param subject what was signed before the text, where it is no envelope
 */
export function verifyText(text: string, ring: KeyRing, now: number, subject = ''): string | null {
  // Half a surrogate pair becomes U+FFFD in UTF-8: two texts would then have one signature.
  if (!text.isWellFormed()) {
    throw new LongshoreError('SIGNATURE', 'Expected an envelope of whole characters, got half a pair.');
  }
  const end = text.length - signatureLength;
  // That it is hex needs no check of its own: only hex can be equal to what the key makes.
  if (end <= 0 || !text.startsWith(beforeSignature, end) || !text.endsWith('"}')) {
    if (ring.acceptUnsignedUntil !== null && now < ring.acceptUnsignedUntil && !text.includes('"_sig"'))
      return null;
    throw new LongshoreError(
      'SIGNATURE',
      'Expected an envelope that ends with its "_sig", got an unsigned or damaged one.',
    );
  }
  const signed = text.slice(0, end);
  const at = signed.lastIndexOf(beforeKid);
  const kid = at > 0 && signed.endsWith('"') ? signed.slice(at + 8, -1) : '';
  if (!kidPattern.test(kid))
    throw new LongshoreError('SIGNATURE', 'Expected "kid" right before "_sig" in the envelope.');
  ring.verify(kid, subject + signed, text.slice(end + beforeSignature.length, -2));
  return kid;
}

const isText = (x: unknown): boolean => typeof x === 'string' && x.length > 0;
const isTextOrNull = (x: unknown): boolean => x === null || x === undefined || typeof x === 'string';
const isCount = (x: unknown): boolean => Number.isSafeInteger(x) && (x as number) >= 0;
const isCountOrNull = (x: unknown): boolean => x === null || x === undefined || isCount(x);
/** As strict as enqueue(), because a job that is enqueued from a handler inherits it. */
const isContextOrNull = (x: unknown): boolean =>
  x === null ||
  x === undefined ||
  (typeof x === 'object' &&
    !Array.isArray(x) &&
    contextMembers.every((name) => isContextText((x as JobContext)[name])));
const isContextText = (x: unknown): boolean =>
  x === undefined || (typeof x === 'string' && x.length <= 256 && isStorable(x));

const isOffloadedOrNull = (x: unknown): boolean => {
  if (x === null || x === undefined) return true;
  const { key, bytes, sha256 } = x as Partial<OffloadedPayload>;
  return payloadKey.test(String(key)) && isCount(bytes) && hex64.test(String(sha256));
};
/** No path leads out of the place where payloads are kept. */
const payloadKey = /^(?!\.)[A-Za-z0-9._-]{1,160}$/;

interface Kind {
  readonly holds: (x: unknown) => boolean;
  readonly expected: string;
}

const text: Kind = { holds: isText, expected: 'a non-empty string' };
const textOrNull: Kind = { holds: isTextOrNull, expected: 'a string or null' };
const count: Kind = { holds: isCount, expected: 'an integer of 0 or more' };
const time: Kind = { holds: isCount, expected: 'epoch milliseconds' };
const countOrNull: Kind = { holds: isCountOrNull, expected: 'an integer or null' };

const shape: readonly (readonly [name: keyof Envelope, kind: Kind])[] = [
  ['v', { holds: (x) => x === 1, expected: '1' }],
  ['job', text],
  ['queue', text],
  ['priority', { holds: (x) => isCount(x) && (x as number) <= 9, expected: 'an integer from 0 to 9' }],
  ['maxRetries', count],
  ['attempts', count],
  ['identifier', text],
  ['issuedAt', time],
  ['name', textOrNull],
  ['idempotencyKey', textOrNull],
  ['schedule', countOrNull],
  ['expiresAt', countOrNull],
  [
    'context',
    {
      holds: isContextOrNull,
      expected: 'null or an object whose members are strings of at most 256 characters',
    },
  ],
  ['claim', { holds: isOffloadedOrNull, expected: 'null or { key, bytes, sha256 }' }],
  ['chain', { holds: isChainOrNull, expected: 'null or a link' }],
  ['concurrency', countOrNull],
];

function checkShape(data: unknown): Envelope {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new LongshoreError('ENVELOPE', `Expected an envelope object, got ${shown(data)}.`);
  }
  const envelope = data as Record<keyof Envelope, unknown>;
  // By index: an iterator makes an object per member, for each job that a worker reads.
  for (let i = 0; i < shape.length; i++) {
    const [name, { holds, expected }] = shape[i]!;
    if (!holds(envelope[name])) {
      throw new LongshoreError(
        'ENVELOPE',
        `Expected "${name}" of the envelope to be ${expected}, got ${shown(envelope[name])}.`,
      );
    }
  }
  assertJson(envelope.payload ?? null, 'payload');
  assertJson(envelope.context ?? null, 'context');
  return envelope as unknown as Envelope;
}
