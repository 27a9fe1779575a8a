/** A job between the call of `enqueue()` and the queue. */

import type { OutgoingMessage } from '../../contract/queue.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { Job } from '../app/job.ts';
import type { EnqueueOptions } from '../app/options.ts';
import type { UniqueRule } from '../app/unique.ts';
import type { Upload } from './offload.ts';

/** What a call says of one job. */
export interface Draft {
  readonly job: Job;
  readonly payload: unknown;
  readonly options: EnqueueOptions;
  /** Takes payloads that are too large for the queue, which must be kept before the message is sent; `null`: refused. */
  readonly uploads: Upload[] | null;
  /** One that may have been sent before. @default a new one */
  readonly id?: string | undefined;
  /** Of a job that is part of a chain or a batch. */
  readonly members?: FlowMembers | undefined;
}

/** What an envelope says of the flow that its job is a part of. */
export type FlowMembers = Pick<Envelope, 'chain' | 'results' | 'concurrency'>;

/** Makes the message; with an id, that of the job that stands instead of a new one. */
export type Make = (
  timing: Pick<EnqueueOptions, 'delayMs'>,
  uploads: Upload[] | null,
  id?: string,
) => Promise<OutgoingMessage>;

export interface UniqueMessage extends OutgoingMessage {
  readonly unique: {
    /** In the key store. */
    readonly key: string;
    readonly rule: UniqueRule<unknown>;
    readonly make: Make;
  };
}

/** A message on its way to `send()`. */
export type MaybeUnique = OutgoingMessage & Partial<Pick<UniqueMessage, 'unique'>>;
