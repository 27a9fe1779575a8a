/** A job between the call of `enqueue()` and the queue. */

import type { OutgoingMessage } from '../../contract/queue.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { Job } from '../app/job.ts';
import type { EnqueueOptions } from '../app/options.ts';
import type { UniqueRule } from '../app/unique.ts';
import type { Upload } from './offload.ts';

/** One job of a call. */
export interface Draft {
  readonly job: Job;
  readonly payload: unknown;
  readonly options: EnqueueOptions;
  /** Gets a payload that is too large for the queue and must be stored before the message is sent; `null` = such a payload is refused. */
  readonly uploads: Upload[] | null;
  /** An id that may have been sent before. @default a new id */
  readonly id?: string | undefined;
  /** Set if the job is part of a chain or a batch. */
  readonly members?: FlowMembers | undefined;
}

/** The members of an envelope that describe the chain or batch of its job. */
export type FlowMembers = Pick<Envelope, 'chain' | 'results' | 'concurrency'>;

/** Makes the message. @param id the id of the active job to replace. @default a new id */
export type Make = (
  timing: Pick<EnqueueOptions, 'delayMs'>,
  uploads: Upload[] | null,
  id?: string,
) => Promise<OutgoingMessage>;

export interface UniqueMessage extends OutgoingMessage {
  readonly unique: {
    /** The key in the key store. */
    readonly key: string;
    readonly rule: UniqueRule<unknown>;
    readonly make: Make;
  };
}

/** A message on its way to `send()`. */
export type MaybeUnique = OutgoingMessage & Partial<Pick<UniqueMessage, 'unique'>>;
