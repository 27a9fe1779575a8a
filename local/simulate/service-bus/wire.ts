/** Converts between AMQP messages and messages of a queue. */

import rhea, { type AmqpError, type Message } from 'rhea';
import type { Locked, NewMessage, Properties, StoredMessage } from './queue.ts';

/** A message decoded by rhea: sections as objects, the body as data. */
export type Decoded = Message;

const decode = (bytes: Buffer): Decoded => rhea.message.decode(bytes) as unknown as Decoded;

interface Outcomes {
  accepted(): { described(): unknown };
  rejected(fields: { error: AmqpError }): { described(): unknown };
}
const outcomes = rhea.message as unknown as Outcomes;
export const accepted = (): unknown => outcomes.accepted().described();
export const rejected = (error: AmqpError): unknown => outcomes.rejected({ error }).described();

/** The messages of a transfer. A batch has one data section per message, which contains an encoded message. */
export function messagesOf(message: Message | Buffer, format: number | undefined): Decoded[] {
  if (format === undefined || format === 0) return [message as Message];
  const { body } = decode(message as Buffer);
  const sections = body?.content as Buffer | Buffer[];
  // A batch of one message decodes to its only section.
  return (Array.isArray(sections) ? sections : [sections]).map(decode);
}

export const newMessageFrom = (bytes: Buffer): NewMessage => newMessageOf(decode(bytes));

export function newMessageOf(decoded: Decoded): NewMessage {
  const { message_id, group_id, ttl, application_properties = {}, message_annotations = {} } = decoded;
  const scheduled = message_annotations['x-opt-scheduled-enqueue-time'];
  return {
    messageId: message_id === undefined ? null : String(message_id),
    sessionId: group_id ?? null,
    notBefore: scheduled === undefined ? null : Number(scheduled),
    timeToLiveMs: ttl ?? null,
    properties: application_properties,
    content: decoded,
  };
}

export const sizeOf = (decoded: Decoded): number => rhea.message.encode(decoded).length;

export const lockLost = {
  condition: 'com.microsoft:message-lock-lost',
  description:
    'The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue.',
};

export const sessionLost = {
  condition: 'com.microsoft:session-lock-lost',
  description: 'The session lock has expired. Accept the session again.',
};

const states = { active: 0, deferred: 1, scheduled: 2 };

/** The message for a receiver. `lock` is null for a peek. */
export function outgoing(message: StoredMessage, lock: Locked | null): Decoded {
  const { sent, properties, sequence, enqueuedAt, deliveryCount, source } = message;
  const { message_annotations = {}, ...rest } = sent.content as Decoded;
  return {
    ...rest,
    // The SDK refuses to settle a message without an id.
    message_id: sent.messageId ?? `sequence-${sequence}`,
    application_properties: typed(properties),
    delivery_count: deliveryCount,
    message_annotations: {
      ...message_annotations,
      'x-opt-sequence-number': rhea.types.wrap_long(sequence),
      'x-opt-enqueued-time': rhea.types.wrap_timestamp(enqueuedAt),
      'x-opt-message-state': rhea.types.wrap_int(states[message.state]),
      ...(lock && { 'x-opt-locked-until': rhea.types.wrap_timestamp(lock.until) }),
      ...(source !== null && { 'x-opt-deadletter-source': source }),
    },
  } as Decoded;
}

/** Marks whole numbers, which rhea would otherwise write as doubles. */
function typed(properties: Properties): Properties {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [
      name,
      Number.isSafeInteger(value) ? rhea.types.wrap_long(value as number) : value,
    ]),
  );
}

/** Service Bus writes a lock token like a .NET Guid: the bytes of the first three groups are reversed. */
export function tagOf(token: string): Buffer {
  const bytes = Buffer.from(token.replaceAll('-', ''), 'hex');
  return Buffer.concat([
    bytes.subarray(0, 4).reverse(),
    bytes.subarray(4, 6).reverse(),
    bytes.subarray(6, 8).reverse(),
    bytes.subarray(8),
  ]);
}

export function tokenFrom(bytes: Buffer): string {
  const hex = Buffer.from(bytes).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Reads a long, which rhea gives as a number, or as bytes if it is too large for a number. */
export const longOf = (value: number | Buffer): number =>
  typeof value === 'number' ? value : Number(value.readBigInt64BE());

export const textMessage = (body: string, session?: string): Decoded =>
  ({
    body: rhea.message.data_section(Buffer.from(body)),
    ...(session !== undefined && { group_id: session }),
  }) as unknown as Decoded;

export function textIn({ sent }: StoredMessage): string {
  const content = (sent.content as Decoded).body?.content as Buffer | Buffer[] | undefined;
  return Buffer.concat([content ?? []].flat()).toString('utf8');
}
