/**
 * The properties of a message. The envelope is signed and never changes; the properties name and count it. They need no signature: anybody who
 * may write to the queue could send the same envelope again anyway.
 *
 * The Functions host parses texts as JSON if it can, and makes the first character of every key lower case. So keys begin in lower case, and a
 * name that happens to be JSON ("1e3") is sent as a JSON string.
 */

import { createHash } from 'node:crypto';
import type { BusMessage, ReceivedMessage } from './api.ts';

/** The data that a copy of a message keeps. */
export interface Tags {
  readonly id: string;
  readonly job: string;
  readonly group: string | null;
  /** Attempts of earlier copies of this message. */
  readonly attempts: number;
  /** Number of earlier copies. Each copy has its own message id. */
  readonly copies: number;
  /** The series of copies that this one belongs to. A retried dead letter begins a new series. */
  readonly series: string;
  /** The previous attempt was never settled. */
  readonly interrupted: boolean;
}

/** One delivery, received here or by the Functions host. */
export interface Delivery {
  readonly body: string;
  readonly lockToken: string;
  /** 1 = the first. */
  readonly deliveryCount: number;
  readonly enqueuedAt: number | null;
  readonly tags: Tags;
  /** Why the queue's rule could not make a job from it. */
  readonly refusal?: string;
}

/** Values may have any type: other programs may write to the queue. */
type Properties = Readonly<Record<string, unknown>>;

const longestName = 128;

export function propertiesOf({
  id,
  job,
  attempts,
  copies,
  series,
  interrupted,
}: Tags): Record<string, string> {
  return someOf({
    'longshore.id': named(id),
    'longshore.job': named(job),
    'longshore.attempts': attempts > 0 ? String(attempts) : '',
    'longshore.copies': copies > 0 ? String(copies) : '',
    'longshore.series': series === id ? '' : named(series),
    'longshore.interrupted': interrupted ? 'yes' : '',
  });
}

/** Empty texts are left out. */
export const someOf = (texts: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));

const named = (text: string): string => (isJson(text) ? JSON.stringify(text) : text);

export function textOf(properties: Properties, name: string): string {
  const value = properties[name];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') return typeof value === 'object' ? JSON.stringify(value) : String(value);
  return value;
}

/** No name begins with a quotation mark, so such a text is a JSON string. */
function nameOf(properties: Properties, name: string): string {
  const text = textOf(properties, name);
  return text.startsWith('"') && isJson(text) ? String(JSON.parse(text)) : text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** @param messageId the id of a message that another program sent */
export function tagsOf(properties: Properties, messageId: string, group: string | null): Tags {
  const id = (nameOf(properties, 'longshore.id') || messageId).slice(0, longestName);
  return {
    id,
    job: nameOf(properties, 'longshore.job').slice(0, longestName),
    group,
    attempts: countOf(properties['longshore.attempts']),
    copies: countOf(properties['longshore.copies']),
    series: nameOf(properties, 'longshore.series') || id,
    interrupted: properties['longshore.interrupted'] === 'yes',
  };
}

export function countOf(value: unknown): number {
  const count = Number(value ?? 0);
  return Number.isSafeInteger(count) && count >= 0 ? count : 0;
}

/** Service Bus accepts one message with this id within its window and drops a second one. */
export function messageIdOf({ series, copies }: Tags): string {
  const end = copies > 0 ? `:${copies}` : '';
  if (series.length + end.length <= longestName) return series + end;
  return createHash('sha256').update(series).digest('hex') + end;
}

export function busMessage(body: string, tags: Tags, notBefore: number | null, now: number): BusMessage {
  return {
    messageId: messageIdOf(tags),
    body: Buffer.from(body),
    contentType: 'application/json',
    applicationProperties: propertiesOf(tags),
    ...(tags.group !== null && { sessionId: sessionIdOf(tags.group) }),
    ...(tags.job !== '' && { subject: tags.job }),
    ...(notBefore !== null && notBefore > now && { scheduledEnqueueTimeUtc: new Date(notBefore) }),
  };
}

const sessionIdOf = (group: string): string =>
  group.length <= longestName ? group : createHash('sha256').update(group).digest('hex');

/** The next copy of the same message. */
export const copyOf = (tags: Tags, change: { attempts: number; interrupted: boolean }): Tags => ({
  ...tags,
  ...change,
  copies: tags.copies + 1,
});

export function deliveryOf(message: ReceivedMessage): Delivery {
  const { applicationProperties = {}, sessionId, sequenceNumber, messageId } = message;
  const name = messageId === undefined ? `sequence-${sequenceNumber}` : String(messageId);
  return {
    body: bodyText(message.body),
    lockToken: message.lockToken ?? '',
    deliveryCount: (message.deliveryCount ?? 0) + 1, // the SDK counts earlier deliveries only
    enqueuedAt: message.enqueuedTimeUtc?.getTime() ?? null,
    tags: tagsOf(applicationProperties, name, sessionId ?? null),
  };
}

/** The text of a body of bytes, of a text, or of a value that the host has parsed: `JSON.stringify` restores the original text. */
export function bodyText(body: unknown): string {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString('utf8');
  return body === undefined ? '' : JSON.stringify(body);
}
