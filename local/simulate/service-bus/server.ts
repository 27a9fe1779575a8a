/**
 * A Service Bus for tests and development: queues over AMQP 1.0, for the real `@azure/service-bus`. Its data is lost when it stops, and
 * every client that reaches the port has all rights.
 */

import type { AddressInfo, Server, Socket } from 'node:net';
import { hostname } from 'node:os';
import rhea, { type EventContext, type Message, type Sender } from 'rhea';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { config } from '../../../core/base/errors.ts';
import { manage, type Reply, replyTo } from './management.ts';
import { createQueue, defaultSettings, type Queue, type QueueSettings } from './queue.ts';
import {
  answer,
  createAccepting,
  createDelivering,
  misfit,
  type Outcome,
  sessionAsked,
  sessionMissing,
} from './receivers.ts';
import { accepted, type Decoded, messagesOf, newMessageOf, sizeOf, textIn, textMessage } from './wire.ts';

export type { Queue, QueueSettings } from './queue.ts';
export type { SessionOrder } from './sessions.ts';

interface ServiceBusServerOptions {
  /** @default any free port */
  readonly port?: number;
  /** Any address that is not loopback makes the server public. @default '127.0.0.1' */
  readonly host?: string;
  readonly clock?: Clock;
  /** Maximum size of one message, which depends on the tier: up to 104_857_600 on Premium. A batch has 1 MB at most. @default 262_144 (Standard) */
  readonly maxMessageBytes?: number;
}

const management = '/$management';
/** Limits of a batch, independent of the limit of one message. */
const most = { bytes: 1_048_576, messages: 4_500 };
const deadLettersOf = (name: string): string => `${name}/$DeadLetterQueue`;

export type ServiceBusServer = Awaited<ReturnType<typeof startServiceBus>>;

/** Throws `CONFIG` if it cannot listen on the port. */
export async function startServiceBus(options: ServiceBusServerOptions = {}) {
  const { port = 0, host = '127.0.0.1', clock = systemClock, maxMessageBytes = 262_144 } = options;
  /** By address in lower case, including the queues of dead letters. */
  const queues = new Map<string, Queue>();
  const sockets = new Set<Socket>();
  const delivering = createDelivering();
  const accepting = createAccepting(delivering.add);
  const container = rhea.create_container({
    id: 'longshore-servicebus',
    autoaccept: false,
    autosettle: false,
    credit_window: 0,
    treat_modified_as_released: false,
    max_frame_size: 65_536,
  } as never);

  const find = (address: string): Queue | null => queues.get(address.toLowerCase()) ?? null;

  const addressOf = (terminus: { address?: unknown } | undefined): string => String(terminus?.address ?? '');
  const isForReplies = (address: string): boolean => address === '$cbs' || address.endsWith(management);

  container.on('receiver_open', ({ receiver }: EventContext) => {
    const address = addressOf(receiver!.target);
    receiver!.set_target(receiver!.target);
    receiver!.set_source(receiver!.source);
    const queue = find(address.replace(management, ''));
    // The SDK reads the size from the answer to its attach, which is written after this event.
    attachOf(receiver!).max_message_size = maxMessageBytes;
    if (!queue && address !== '$cbs') return receiver!.close(notFound(address));
    if (queue?.settings.maySend === false && !isForReplies(address)) return receiver!.close(unauthorized);
    receiver!.add_credit(1_000);
    receiver!.set_credit_window(1_000);
  });

  container.on('sender_open', ({ sender }: EventContext) => {
    const address = addressOf(sender!.source);
    sender!.set_source(sender!.source);
    sender!.set_target(sender!.target);
    // Settles replies when they are sent, so that the receiver need not settle them.
    if (isForReplies(address)) attachOf(sender!).snd_settle_mode = 1;
    if (isForReplies(address)) return;
    const queue = find(address);
    if (!queue) return sender!.close(notFound(address));
    const asked = sessionAsked(sender!);
    const refusal = misfit(queue, asked !== undefined);
    if (refusal) sender!.close(refusal);
    else if (asked === undefined) delivering.add(sender!, queue);
    else accepting.ask(sender!, queue, asked);
  });

  container.on('message', ({ receiver, message, delivery, connection, ...rest }: EventContext) => {
    const address = addressOf(receiver!.target);
    if (isForReplies(address)) {
      delivery!.update(true, accepted() as never);
      const target = find(address.replace(management, ''));
      const reply: Reply = address === '$cbs' ? { statusCode: 202 } : manage(target!, message!);
      replyLink(connection, String(message!.reply_to))?.send(replyTo(message!, reply));
      if (target) delivering.pump(target);
      return;
    }
    const { format } = rest as { format?: number };
    const refusal = take(find(address), message as Message | Buffer, format);
    if (refusal === batchTooLarge) return receiver!.close(refusal);
    answer(delivery!, refusal);
  });

  function take(queue: Queue | null, message: Message | Buffer, format: number | undefined) {
    if (!queue) return notFound('');
    const decoded: Decoded[] = messagesOf(message, format);
    const isBatch = decoded.length > 1;
    if (isBatch && (decoded.length > most.messages || (message as Buffer).length > most.bytes))
      return batchTooLarge;
    if (decoded.some((one) => sizeOf(one) > maxMessageBytes)) {
      return {
        condition: 'amqp:link:message-size-exceeded',
        description: `The received message (delivery-id:0, size:${sizeOf(decoded[0]!)} bytes) exceeds the limit (${maxMessageBytes} bytes) currently allowed on the link.`,
      };
    }
    const messages = decoded.map(newMessageOf);
    if (!queue.takes(messages)) return sessionMissing;
    queue.send(messages);
    return null;
  }

  for (const outcome of ['accepted', 'rejected', 'modified', 'released'] satisfies Outcome[]) {
    container.on(outcome, (context: EventContext) => {
      if (context.sender && !isForReplies(addressOf(context.sender.source)))
        delivering.settle(context, outcome);
      else context.delivery?.update(true);
    });
  }
  container.on('sender_flow', ({ sender }: EventContext) => {
    const queue = find(addressOf(sender!.source));
    if (queue) delivering.pump(queue);
  });
  container.on('sender_draining', ({ sender }: EventContext) => delivering.drain(sender!));
  function remove(sender: Sender): void {
    accepting.remove(sender);
    delivering.remove(sender);
  }
  container.on('sender_close', ({ sender }: EventContext) => remove(sender!));
  const removeSenders = (of: unknown) => (of as Links).each_sender(remove);
  container.on('session_close', ({ session }: EventContext) => removeSenders(session));
  container.on('connection_close', ({ connection }: EventContext) => removeSenders(connection));
  container.on('disconnected', ({ connection }: EventContext) => removeSenders(connection));
  // rhea does not notice when this side destroys the socket.
  container.on('connection_open', ({ connection }: EventContext) => {
    (connection as unknown as { socket: Socket }).socket.on('close', () => removeSenders(connection));
  });
  for (const noise of [
    'connection_error',
    'session_error',
    'sender_error',
    'receiver_error',
    'protocol_error',
    'error',
  ])
    container.on(noise, () => {});

  const server = container.listen({ port, host } as never) as Server;
  server.on('connection', (socket) => {
    sockets.add(socket.setNoDelay(true));
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(host, port, error)));
  });
  const chosen = (server.address() as AddressInfo).port;

  function dropConnections(): void {
    for (const socket of sockets) socket.destroy();
  }

  function open(name: string, settings: QueueSettings, deadLetters: Queue | null): Queue {
    const onReady = () => {
      accepting.serve(queue);
      delivering.pump(queue);
    };
    const queue = createQueue({ name, settings, clock, deadLetters, onReady });
    queues.set(name.toLowerCase(), queue);
    return queue;
  }

  function queue(name: string): Queue {
    const found = find(name);
    if (found) return found;
    throw new Error(`Queue "${name}" was not created.`);
  }

  return {
    port: chosen,
    connectionString: `Endpoint=sb://${reachableAs(host)}:${chosen};SharedAccessKeyName=longshore;SharedAccessKey=development;UseDevelopmentEmulator=true;`,
    createQueue(name: string, settings: Partial<QueueSettings> = {}): Queue {
      const own = { ...defaultSettings, ...settings };
      const forever = { ...defaultSettings, lockMs: own.lockMs, maxDeliveryCount: Number.POSITIVE_INFINITY };
      return open(name, own, open(deadLettersOf(name), forever, null));
    },
    deleteQueue(name: string): void {
      for (const address of [name, deadLettersOf(name)].map((each) => each.toLowerCase())) {
        queues.get(address)?.close();
        queues.delete(address);
      }
    },
    /** Returns a queue, or its `<queue>/$DeadLetterQueue`. Throws if it does not exist. */
    queue,
    /** Writes a text without id or properties to a queue, like another program. @param session for a queue that requires one */
    write: (name: string, body: string, session?: string) =>
      void queue(name).send([newMessageOf(textMessage(body, session))]),
    /** Bodies of all messages in a queue: ready, locked and scheduled. */
    bodies: (name: string) => queue(name).peek(0, Number.MAX_SAFE_INTEGER).map(textIn),
    /** Cuts all connections, like a network failure. */
    dropConnections,
    async stop(): Promise<void> {
      dropConnections();
      accepting.close();
      await new Promise((resolve) => server.close(resolve));
      for (const queue of queues.values()) queue.close();
    },
  };
}

/** The host to connect to. An address for "all interfaces" is replaced by the name of this machine. */
function reachableAs(host: string): string {
  const name = ['0.0.0.0', '::'].includes(host) ? hostname() : host;
  return name.includes(':') ? `[${name}]` : name;
}

function cannotListen(host: string, port: number, { code, message }: NodeJS.ErrnoException): Error {
  const why = code === 'EADDRINUSE' ? 'it is taken' : message;
  return config(`Expected to listen on port ${port} of ${host}, but ${why}. Choose another one.`);
}

interface Attach {
  max_message_size?: number;
  snd_settle_mode?: number;
}
const attachOf = (link: unknown): Attach => (link as { local: { attach: Attach } }).local.attach;

interface Links {
  each_sender(action: (sender: Sender) => void): void;
}

function replyLink(connection: EventContext['connection'], address: string): Sender | undefined {
  const isIt = (link: Sender): boolean => link.name === address;
  return (
    connection as unknown as { find_sender(is: (link: Sender) => boolean): Sender | undefined }
  ).find_sender(isIt);
}

const unauthorized = {
  condition: 'amqp:unauthorized-access',
  description: "Unauthorized access. 'Send' claim(s) are required to perform this operation.",
};

/** Unlike a message that is too large, this ends the link. */
const batchTooLarge = {
  condition: 'amqp:link:message-size-exceeded',
  description: `The batch exceeds ${most.bytes} bytes or ${most.messages} messages. The link is detached.`,
};

const notFound = (address: string) => ({
  condition: 'amqp:not-found',
  description: `The messaging entity 'sb://localhost/${address}' could not be found.`,
});

/** Large, because a retry of one dead letter also locks others, which counts as a delivery each time. */
const failedDeliveries = 2_000;

/**
 * Creates the queues of an app as in docs/azure.md, each with its `-failed` queue for jobs that failed for good. Returns their names.
 *
 * @param sessions the queues that require sessions
 */
export function createAppQueues(
  server: ServiceBusServer,
  names: readonly string[],
  settings: Partial<QueueSettings> = {},
  sessions: readonly string[] = [],
): string[] {
  const shared = { duplicateWindowMs: 3_600_000, lockMs: defaultSettings.lockMs };
  return names.flatMap((name) => {
    const failed = `${name}-failed`;
    server.createQueue(name, { ...shared, ...settings, requiresSession: sessions.includes(name) });
    server.createQueue(failed, { ...shared, maxDeliveryCount: failedDeliveries });
    return [name, failed];
  });
}
