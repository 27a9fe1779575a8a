/** EventBridge Scheduler puts what it could not send into the dead-letter queue: the request, not the message. */

import type { Delivery } from './message.ts';

interface Request {
  readonly MessageBody?: string;
  readonly MessageAttributes?: Readonly<Record<string, { readonly StringValue?: string }>>;
}

/** The message inside the request, as a dead letter of ours; any other delivery as it is. */
export function unwrapped(delivery: Delivery): Delivery {
  if (delivery.attributes['longshore.id'] !== undefined || !delivery.body.startsWith('{"QueueUrl":')) {
    return delivery;
  }
  try {
    const { MessageBody, MessageAttributes = {} } = JSON.parse(delivery.body) as Request;
    if (typeof MessageBody !== 'string') return delivery;
    const texts = Object.entries(MessageAttributes).map(([name, value]) => [name, value?.StringValue ?? '']);
    const attributes = {
      ...(Object.fromEntries(texts) as Record<string, string>),
      'longshore.reason': 'exhausted',
      'longshore.error':
        'BACKEND: EventBridge Scheduler tried for a day to send this message. Check its role.',
      'longshore.attempt': '0',
    };
    return { ...delivery, body: MessageBody, attributes };
  } catch {
    return delivery; // not a request of ours
  }
}
