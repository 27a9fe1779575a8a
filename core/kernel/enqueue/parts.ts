/** What features do around the sending of jobs. */

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

/** Makes the members that a feature adds. @param client the whole one, which has all members when the first of them is called */
export type ClientDoor = (client: Client) => Partial<Client>;

/** Ends what a feature has open in this process, when a worker has drained. */
export type Closing = (client: Client) => Promise<unknown>;

type SomeClient = Pick<Client, 'app' | 'backend' | 'stores'>;

/**
 * Forgets what a feature keeps of jobs that will not run: one that a call has cancelled or removed, one that its batch has cancelled, or those of a
 * queue that was cleared. Never fails: what is missed ends by itself, or is found by a later look.
 */
export type Forget = (
  client: SomeClient,
  ids: readonly string[],
  by: 'call' | 'batch' | 'clear',
) => Promise<void>;

export async function forgetJobs(...[client, ids, by]: Parameters<Forget>): Promise<void> {
  await Promise.all(partsOf(client.app).forget.map((forget) => forget(client, ids, by)));
}

/** The record of the job after which this one will be enqueued; `null` = there is none. */
export type Predecessor = (
  app: App,
  records: Pick<RecordStore, 'get' | 'recordsDisabled'>,
  job: string,
  id: string,
) => Promise<JobRecord | null>;

/** Jobs of which only one of a kind may be there. */
export interface Uniqueness {
  /** Says which key the call asks for. */
  ask(draft: Draft, value: unknown, make: Make): Promise<MaybeUnique>;
  /** Sends those that no other job stands for. */
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
