/** The requests Longshore makes of SQS, in our own types: a program without the SDK's types compiles. */

import type { Attributes, ReceivedMessage } from './attributes.ts';
import type { EntryFailure, Numbered } from './batches.ts';

export interface SendEntry {
  readonly MessageBody: string;
  readonly MessageAttributes: Attributes;
  readonly DelaySeconds?: number;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

export interface DeleteEntry {
  readonly ReceiptHandle: string;
}

export interface HideEntry extends DeleteEntry {
  /** Seconds from now; 0 = release. */
  readonly VisibilityTimeout: number;
}

export interface ReceiveRequest {
  readonly QueueUrl: string;
  readonly MaxNumberOfMessages: number;
  readonly VisibilityTimeout: number;
  readonly WaitTimeSeconds: number;
}

export type QueueAttribute =
  | 'QueueArn'
  | 'ApproximateNumberOfMessages'
  | 'ApproximateNumberOfMessagesDelayed'
  | 'ApproximateNumberOfMessagesNotVisible';

/** Batches answer with the entries that failed. Rejects with the SDK's own errors. */
export interface SqsApi {
  send(url: string, entries: readonly Numbered<SendEntry>[]): Promise<EntryFailure[]>;
  /** With Longshore's attributes, and no others. */
  receive(request: ReceiveRequest): Promise<ReceivedMessage[]>;
  delete(url: string, entries: readonly Numbered<DeleteEntry>[]): Promise<EntryFailure[]>;
  hide(url: string, entries: readonly Numbered<HideEntry>[]): Promise<EntryFailure[]>;
  attributes(url: string, names: readonly QueueAttribute[]): Promise<Partial<Record<QueueAttribute, string>>>;
  /** For development. Resolves with the URL, also of a queue that exists. */
  create(name: string): Promise<string>;
  purge(url: string): Promise<void>;
  close(): void;
}
