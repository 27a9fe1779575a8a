/** The parts that features add to clients and to the sending of jobs. */

import type { SendResult, SqlTransaction } from '../../contract/queue.ts';
import type { JobRecord, RecordStore } from '../../contract/store.ts';
import type { App } from '../app/app.ts';
import type { Client } from './client.ts';
import type { Draft, Make, MaybeUnique } from './draft.ts';
import type { Upload } from './offload.ts';

export interface ClientParts {
  readonly doors: readonly ClientDoor[];
  readonly closing: readonly Closing[];
  readonly forget: readonly Forget[];
  readonly predecessor: readonly Predecessor[];
  readonly uniqueness: Uniqueness;
}

export const partsOf = ({ installed }: Pick<App, 'installed'>): ClientParts =>
  installed.client as ClientParts;

/** Makes the members that a feature adds. @param client the whole client; it is complete before a member is called */
export type ClientDoor = (client: Client) => Partial<Client>;

/** Closes what a feature has open in this process. Called when a worker has drained. */
export type Closing = (client: Client) => Promise<unknown>;

type SomeClient = Pick<Client, 'app' | 'backend' | 'stores'>;

/**
 * Deletes the state that a feature keeps of jobs that will not run: `by` a call that cancelled or removed them, a cancelled `batch`, or a `clear` of
 * the queue. Never fails: state that is missed expires, or is found later.
 */
export type Forget = (
  client: SomeClient,
  ids: readonly string[],
  by: 'call' | 'batch' | 'clear',
) => Promise<void>;

export async function forgetJobs(...[client, ids, by]: Parameters<Forget>): Promise<void> {
  await Promise.all(partsOf(client.app).forget.map((forget) => forget(client, ids, by)));
}

/** Finds the record of the job that will enqueue this one, as in a chain; `null` = there is none. */
export type Predecessor = (
  app: App,
  records: Pick<RecordStore, 'get' | 'recordsDisabled'>,
  job: string,
  id: string,
) => Promise<JobRecord | null>;

/** The part of the feature `unique`. */
export interface Uniqueness {
  /** Makes the message, with the key that the call asks for. */
  ask(draft: Draft, value: unknown, make: Make): Promise<MaybeUnique>;
  /** Sends the messages that are no duplicates of an active job. */
  send(
    client: SomeClient,
    messages: readonly MaybeUnique[],
    uploads: readonly Upload[] | null,
    tx: SqlTransaction | undefined,
    send: (
      client: SomeClient,
      messages: readonly MaybeUnique[],
      uploads: readonly Upload[],
    ) => Promise<SendResult[]>,
  ): Promise<SendResult[]>;
}
