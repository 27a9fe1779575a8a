/** The requests Longshore makes of Service Bus, in our own types: a program without the SDK's types compiles. */

/** A message to send, as the SDK takes it. */
export interface BusMessage {
  readonly messageId: string;
  readonly body: Buffer;
  readonly contentType: string;
  readonly applicationProperties: Readonly<Record<string, string>>;
  /** For partitions and sessions. */
  readonly sessionId?: string;
  /** For people, in the portal: the job. */
  readonly subject?: string;
  /** Not delivered before. */
  readonly scheduledEnqueueTimeUtc?: Date;
}

/** A message as the SDK gives it, as far as Longshore uses it. */
export interface ReceivedMessage {
  readonly messageId?: string | number | Buffer | undefined;
  readonly body: unknown;
  /** Proof of ownership; a peeked message has none. */
  readonly lockToken?: string | undefined;
  /** Deliveries before this one: the first has 0. */
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

/** Rejects with the SDK's own errors; a lock that has ended is one with code `MessageLockLost`. */
export interface ServiceBusApi {
  /** In as few batches as possible. One answer per message, in order: `null` = Service Bus has it. */
  send(queue: string, messages: readonly BusMessage[]): Promise<(unknown | null)[]>;
  /** Opens a link, which needs the right to send. Rejects when that, or the queue, is missing. */
  openSender(queue: string): Promise<void>;
  /**
   * `waitMs` 0 = look once; otherwise it waits for the first message. More come with it where the call before brought all it asked for.
   * @param link of those that look: each holds 2,048 messages that are not settled. @default 0
   */
  receive(entity: Entity, max: number, waitMs: number, link?: number): Promise<ReceivedMessage[]>;
  /**
   * Locks sessions of the queue that have messages and that nobody holds, and receives one message of each. Its lock is that of the
   * session, which ends when the message is settled. `waitMs` 0 = look once; otherwise it waits for one session.
   */
  receiveOfSessions(queue: string, max: number, waitMs: number): Promise<ReceivedMessage[]>;
  /** Closes the session of a message that nobody settles. The delivery does not count. */
  letGo(holding: Holding): void;
  complete(entity: Entity, holding: Holding): Promise<void>;
  /** Releases the message at once. The delivery counts. */
  abandon(entity: Entity, holding: Holding): Promise<void>;
  deadLetter(entity: Entity, holding: Holding, facts: DeadLetterFacts): Promise<void>;
  renew(entity: Entity, holding: Holding): Promise<Date>;
  /** In the order of sequence numbers, beginning with `from`. Locked and scheduled messages too. */
  peek(entity: Entity, from: string, max: number): Promise<ReceivedMessage[]>;
  close(): Promise<void>;
}
