/** Handles requests to `<queue>/$management`. */

import rhea, { type Message } from 'rhea';
import type { Queue } from './queue.ts';
import { sessionMissing } from './receivers.ts';
import { lockLost, longOf, newMessageFrom, outgoing, sessionLost, tokenFrom } from './wire.ts';

export interface Reply {
  readonly statusCode: number;
  readonly statusDescription?: string;
  readonly errorCondition?: string;
  readonly body?: unknown;
}

type Request = Record<string, unknown>;

const gone: Reply = {
  statusCode: 410,
  errorCondition: lockLost.condition,
  statusDescription: lockLost.description,
};

const sessionGone: Reply = {
  statusCode: 410,
  errorCondition: sessionLost.condition,
  statusDescription: sessionLost.description,
};

const timestamps = (moments: readonly number[]): unknown =>
  rhea.types.wrap_array(
    moments.map((at) => new Date(at)),
    0x83,
    undefined,
  );

const operations: Readonly<Record<string, (queue: Queue, request: Request) => Reply>> = {
  'com.microsoft:renew-lock'(queue, request) {
    const ends = tokensOf(request).map((token) => queue.renew(token));
    if (ends.some((end) => end === null)) return gone;
    return { statusCode: 200, body: { expirations: timestamps(ends as number[]) } };
  },

  'com.microsoft:renew-session-lock'(queue, request) {
    const until = queue.renewSession(String(request['session-id']));
    if (until === null) return sessionGone;
    return { statusCode: 200, body: { expiration: new Date(until) } };
  },

  'com.microsoft:schedule-message'(queue, request) {
    const messages = (request.messages as { message: Buffer }[]).map(({ message }) =>
      newMessageFrom(message),
    );
    if (!queue.takes(messages)) {
      const { condition, description } = sessionMissing;
      return { statusCode: 400, errorCondition: condition, statusDescription: description };
    }
    const sequences = queue.send(messages).map((sequence) => sequence ?? 0);
    return {
      statusCode: 200,
      body: { 'sequence-numbers': rhea.types.wrap_array(sequences, 0x81, undefined) },
    };
  },

  'com.microsoft:cancel-scheduled-message'(queue, request) {
    queue.cancel((request['sequence-numbers'] as (number | Buffer)[]).map(longOf));
    return { statusCode: 200 };
  },

  'com.microsoft:peek-message'(queue, request) {
    const from = longOf(request['from-sequence-number'] as number | Buffer);
    const session = request['session-id'] as string | undefined;
    const found = queue.peek(from, request['message-count'] as number, session ?? null);
    if (found.length === 0) return { statusCode: 204 };
    const messages = found.map((message) => ({ message: rhea.message.encode(outgoing(message, null)) }));
    return { statusCode: 200, body: { messages } };
  },

  'com.microsoft:receive-by-sequence-number'(queue, request) {
    const found = (request['sequence-numbers'] as (number | Buffer)[]).map((sequence) =>
      queue.takeDeferred(longOf(sequence)),
    );
    if (found.some((lock) => lock === null))
      return { statusCode: 404, errorCondition: 'com.microsoft:message-not-found' };
    const messages = found.map((lock) => ({
      // Only here does Service Bus write the token as an ordinary UUID.
      'lock-token': rhea.types.wrap_uuid(rhea.string_to_uuid(lock!.token)),
      message: rhea.message.encode(outgoing(lock!.message, lock)),
    }));
    return { statusCode: 200, body: { messages } };
  },

  'com.microsoft:update-disposition'(queue, request) {
    const change = (request['properties-to-modify'] ?? {}) as Record<string, unknown>;
    const verbs: Record<string, (token: string) => boolean> = {
      completed: (token) => queue.complete(token),
      abandoned: (token) => queue.abandon(token, change),
      defered: (token) => queue.defer(token, change),
      suspended: (token) =>
        queue.deadLetter(token, {
          ...change,
          DeadLetterReason: request['deadletter-reason'],
          DeadLetterErrorDescription: request['deadletter-description'],
        }),
    };
    const verb = verbs[request['disposition-status'] as string];
    if (!verb) return { statusCode: 400, errorCondition: 'amqp:invalid-field' };
    const tokens = tokensOf(request);
    const isOurs = (token: string): boolean =>
      (queue.sessionOf(token)?.id ?? null) === ((request['session-id'] as string | undefined) ?? null);
    if (!tokens.every(isOurs)) return sessionGone;
    return tokens.every(verb) ? { statusCode: 200 } : gone;
  },
};

const tokensOf = (request: Request): string[] => (request['lock-tokens'] as Buffer[]).map(tokenFrom);

export function manage(queue: Queue, message: Message): Reply {
  const operation = String(message.application_properties?.operation);
  const perform = Object.hasOwn(operations, operation) ? operations[operation] : undefined;
  return (
    perform?.(queue, (message.body ?? {}) as Request) ?? {
      statusCode: 501,
      errorCondition: 'amqp:not-implemented',
      statusDescription: `This server does not know ${operation}.`,
    }
  );
}

export function replyTo(request: Message, { statusCode, body, ...rest }: Reply): Message {
  return {
    correlation_id: request.message_id,
    application_properties: {
      statusCode: rhea.types.wrap_int(statusCode),
      statusDescription: rest.statusDescription ?? 'OK',
      ...(rest.errorCondition && { errorCondition: rhea.types.wrap_symbol(rest.errorCondition) }),
    },
    body: body ?? {},
  } as Message;
}
