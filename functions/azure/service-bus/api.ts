/** The requests to Service Bus, in Longshore's own types: programs without the SDK's types compile. */

/** A message to send, in the SDK's shape. */
export interface BusMessage {
  readonly messageId: string;
  readonly body: Buffer;
  readonly contentType: string;
  readonly applicationProperties: Readonly<Record<string, string>>;
  /** For partitions and sessions. */
  readonly sessionId?: string;
  /** Shown in the portal: the job. */
  readonly subject?: string;
  /** Not delivered before this time. */
  readonly scheduledEnqueueTimeUtc?: Date;
}

/** A message of the SDK, as far as Longshore uses it. */
export interface ReceivedMessage {
  readonly messageId?: string | number | Buffer | undefined;
  readonly body: unknown;
  /** Proof of ownership; a peeked message has none. */
  readonly lockToken?: string | undefined;
  /** Number of earlier deliveries: 0 at the first. */
  readonly deliveryCount?: number | undefined;
  readonly lockedUntilUtc?: Date | undefined;
  readonly enqueuedTimeUtc?: Date | undefined;
  readonly scheduledEnqueueTimeUtc?: Date | undefined;
  readonly sequenceNumber?: { toString(): string } | undefined;
  readonly state?: 'active' | 'deferred' | 'scheduled';
  readonly sessionId?: string | undefined;
  readonly applicationProperties?: Readonly<Record<string, unknown>> | undefined;
  readonly deadLetterReason?: string | undefined;
  readonly deadLetterErrorDescription?: string | undefined;
}

/** A message that this process received, or the token of one that another process received. */
export type Holding = ReceivedMessage | { readonly lockToken: string };

export interface DeadLetterFacts {
  readonly deadLetterReason: string;
  readonly deadLetterErrorDescription: string;
  readonly [property: string]: string;
}

/** A queue of the namespace, or its own dead-letter queue. */
export interface Entity {
  readonly name: string;
  readonly deadLetters?: true;
}

/** Rejects with the SDK's own errors; a lost lock has the code `MessageLockLost`. */
export interface ServiceBusApi {
  /** Sends in as few batches as possible. One answer per message, in order: `null` = Service Bus has it. */
  send(queue: string, messages: readonly BusMessage[]): Promise<(unknown | null)[]>;
  /** Opens a link, which needs the right to send. Rejects if the right or the queue is missing. */
  openSender(queue: string): Promise<void>;
  /**
   * `waitMs` 0 = do not wait; otherwise it waits for the first message. It returns more messages if the previous call was filled.
   * @param link the link to use for a look; each holds 2,048 unsettled messages. @default 0
   */
  receive(entity: Entity, max: number, waitMs: number, link?: number): Promise<ReceivedMessage[]>;
  /**
   * Locks free sessions that have messages, and receives one message of each. The lock of the message is the lock of the session, which is
   * closed when the message is settled. `waitMs` 0 = do not wait; otherwise it waits for one session.
   */
  receiveOfSessions(queue: string, max: number, waitMs: number): Promise<ReceivedMessage[]>;
  /** Closes the session of a message without settling it. The delivery does not count. */
  letGo(holding: Holding): void;
  complete(entity: Entity, holding: Holding): Promise<void>;
  /** Releases the message at once. The delivery counts. */
  abandon(entity: Entity, holding: Holding): Promise<void>;
  deadLetter(entity: Entity, holding: Holding, facts: DeadLetterFacts): Promise<void>;
  renew(entity: Entity, holding: Holding): Promise<Date>;
  /** In the order of sequence numbers, from `from` on. Includes locked and scheduled messages. */
  peek(entity: Entity, from: string, max: number): Promise<ReceivedMessage[]>;
  close(): Promise<void>;
}
