/** Messages as the SDK sends and receives them: attributes, sizes, and the characters that SQS carries. */

import { type Delivery, deliveryFrom, type Tags } from './message.ts';

/** SQS returns only attributes that a request names. */
export const attributeNames = ['longshore.*'];
export const systemAttributeNames = [
  'ApproximateReceiveCount',
  'ApproximateFirstReceiveTimestamp',
  'SentTimestamp',
  'MessageGroupId',
] as const;

export type Attributes = Record<string, { readonly DataType: 'String'; readonly StringValue: string }>;

/** A message as the SDK gives it, as far as Longshore looks. */
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

/** SQS has no empty attributes, so empty texts are left out. */
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

/** What SQS does not carry: control characters, halves of pairs, U+FFFE and U+FFFF. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for exactly these
const unfit = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/u;
const everyUnfit = new RegExp(unfit, 'gu');

export const isFit = (text: string): boolean => !unfit.test(text);
const clean = (text: string): string => text.replace(everyUnfit, '\uFFFD');
