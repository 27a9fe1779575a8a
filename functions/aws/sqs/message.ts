/**
 * The attributes of a message. The envelope is signed and never changes; the attributes route, count and name it. They need no signature:
 * anybody who may write to the queue could send the same envelope again anyway.
 */

/** The data that a copy of a message keeps. */
export interface Tags {
  readonly id: string;
  readonly job: string;
  /** SQS MessageGroupId. */
  readonly group: string | null;
  /** Attempts of earlier copies of this message. */
  readonly attempts: number;
  /** Must not run before then (epoch ms). SQS itself delays by 15 minutes at most. */
  readonly notBefore: number | null;
  /** The message, or the one that it copies, was received before, and the queue does not show how that ended. Only its record does. */
  readonly suspect?: boolean;
}

/** One delivery, from a receive call or a Lambda event. */
export interface Delivery {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly receiveCount: number;
  readonly firstReceivedAt: number | null;
  readonly sentAt: number | null;
  readonly group: string | null;
  /** Longshore's own attributes. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Why the queue's rule could not make a job from it. */
  readonly refusal?: string;
}

/** @param attributes by name; those of other programs are ignored */
export function deliveryFrom(
  { messageId, receiptHandle, body }: Pick<Delivery, 'messageId' | 'receiptHandle' | 'body'>,
  system: Readonly<Partial<Record<string, string>>> = {},
  attributes: readonly (readonly [string, string | undefined])[],
): Delivery {
  const own = attributes.filter(([name, text]) => name.startsWith('longshore.') && text !== undefined);
  return {
    messageId,
    receiptHandle,
    body,
    receiveCount: countOf(system.ApproximateReceiveCount) || 1,
    firstReceivedAt: countOf(system.ApproximateFirstReceiveTimestamp) || null,
    sentAt: countOf(system.SentTimestamp) || null,
    group: system.MessageGroupId ?? null,
    attributes: Object.fromEntries(own) as Record<string, string>,
  };
}

export function tagsOf({ messageId, group, attributes }: Delivery): Tags {
  return {
    id: (attributes['longshore.id'] ?? messageId).slice(0, longestName),
    job: (attributes['longshore.job'] ?? '').slice(0, longestName),
    group,
    attempts: countOf(attributes['longshore.attempts']),
    notBefore: countOf(attributes['longshore.notBefore']) || null,
    suspect: attributes['longshore.suspect'] !== undefined,
  };
}

const longestName = 128;

export function countOf(text: string | undefined): number {
  const count = Number(text ?? 0);
  return Number.isSafeInteger(count) && count >= 0 ? count : 0;
}

/** SQS returns only attributes that a request names. */
export const attributeNames = ['longshore.*'];
export const systemAttributeNames = [
  'ApproximateReceiveCount',
  'ApproximateFirstReceiveTimestamp',
  'SentTimestamp',
  'MessageGroupId',
] as const;

export type Attributes = Record<string, { readonly DataType: 'String'; readonly StringValue: string }>;

/** A message of the SDK, as far as Longshore uses it. */
export interface ReceivedMessage {
  readonly MessageId?: string | undefined;
  readonly ReceiptHandle?: string | undefined;
  readonly Body?: string | undefined;
  readonly Attributes?: Readonly<Partial<Record<string, string>>> | undefined;
  readonly MessageAttributes?:
    | Readonly<Record<string, { readonly StringValue?: string | undefined }>>
    | undefined;
}

export function attributesOf({ id, job, attempts, notBefore, suspect }: Tags): Attributes {
  return attributesFrom({
    'longshore.id': id,
    'longshore.job': job,
    'longshore.attempts': attempts > 0 ? String(attempts) : '',
    'longshore.notBefore': notBefore === null ? '' : String(notBefore),
    'longshore.suspect': suspect ? '1' : '',
  });
}

/** SQS allows no empty attributes, so empty texts are left out. */
export function attributesFrom(texts: Readonly<Record<string, string>>): Attributes {
  const attributes: Attributes = {};
  for (const [name, text] of Object.entries(texts)) {
    if (text !== '') attributes[name] = { DataType: 'String', StringValue: clean(text) };
  }
  return attributes;
}

export function deliveryOf({ Attributes, MessageAttributes = {}, ...message }: ReceivedMessage): Delivery {
  const { MessageId: messageId = '', ReceiptHandle: receiptHandle = '', Body: body = '' } = message;
  const own = Object.entries(MessageAttributes).map(([name, value]) => [name, value.StringValue] as const);
  return deliveryFrom({ messageId, receiptHandle, body }, Attributes, own);
}

export function bytesOf(body: string, attributes: Attributes = {}): number {
  let bytes = Buffer.byteLength(body);
  for (const [name, { DataType, StringValue }] of Object.entries(attributes)) {
    bytes += Buffer.byteLength(name) + DataType.length + Buffer.byteLength(StringValue);
  }
  return bytes;
}

/** Characters that SQS does not carry: control characters, lone surrogates, U+FFFE and U+FFFF. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for exactly these
const unfit = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/u;
const everyUnfit = new RegExp(unfit, 'gu');

export const isFit = (text: string): boolean => !unfit.test(text);
const clean = (text: string): string => text.replace(everyUnfit, '\uFFFD');

/** SQS hides a message for 12 hours at most after its receipt. One minute is a margin. */
export const longestHiddenMs = 12 * 3_600_000 - 60_000;

/** SQS counts attributes as part of the message. This is reserved for them, including reason and error of a dead letter. */
const attributeBytes = 4_096;
export const maxBodyBytes = 1_048_576 - attributeBytes;
