/** Scenarios, and what is seen of a run. */

import type { QueueBackend } from '../../core/contract/queue.ts';
import type { AppOptions } from '../../core/kernel/app/app.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
import type { FaultKind } from './faults.ts';
import type { ProcessClock } from './sim-clock.ts';

export type Kind = 'memory' | 'sqlite';

export interface Effect {
  readonly what: string;
  /** Id of the job that did it. */
  readonly id: string;
  readonly at: number;
}

/** Handlers call it for each effect outside. Effects of a dead process are not seen. */
export type Did = (what: string, by: { readonly id: string }) => void;

export interface Scenario {
  readonly name: string;
  /** The app as each process makes it. */
  app(
    did: Did,
    process: Pick<ProcessClock, 'now' | 'after'>,
  ): Pick<AppOptions, 'jobs' | 'schedules' | 'queues'>;
  /** By a process that nothing happens to, before the others start. */
  begin?(client: Client): Promise<unknown>;
  /** By the process that the fault comes to. Whoever finds it failed or dead does it again, as people do. */
  act?(client: Client): Promise<unknown>;
  /** Each must happen, by one job. */
  readonly effects: readonly string[];
  /** These may happen, too, by one job each. */
  readonly allowed?: readonly (string | RegExp)[];
  /** Effects that name these jobs in this order, in each group. A job that runs again may do its own again. */
  readonly order?: readonly (readonly string[])[];
  /** Their names. They end as dead letters. */
  readonly dead?: readonly string[];
  /** Jobs that die with their worker, because they have one attempt. Then their effects are missing. */
  readonly mayDie?: readonly string[];
  /** Two jobs with the same key: either may do it. */
  readonly byEither?: true;
  /** They may end as cancelled. */
  readonly cancelled?: readonly string[];
  /** How long it takes without a fault, because it asks for that. */
  readonly askedMs?: number;
  /** Whether what has to happen has happened, beside `effects`. */
  isEnough?(effects: readonly Effect[]): boolean;
  /** More always comes: then what waits or runs at the end is right. */
  readonly endless?: true;
  /** @default 4 */
  readonly concurrency?: number;
  readonly payloads?: boolean;
  /** Complaints that the documentation declares for such a fault. */
  readonly declared?: readonly {
    readonly call: RegExp;
    readonly kind: FaultKind;
    readonly complaint: RegExp;
  }[];
  /** More complaints about what people are told. */
  told?(client: Client): Promise<readonly string[]>;
}

export interface Seen {
  readonly scenario: Scenario;
  readonly effects: readonly Effect[];
  /** Jobs that ran again although their ack was confirmed. */
  readonly again: readonly string[];
  readonly client: Client;
  readonly backend: QueueBackend;
}

export interface Outcome {
  /** The numbered calls of the process, those before its end. */
  readonly calls: readonly string[];
  /** Empty = all is well. */
  readonly complaints: readonly string[];
}

export interface Mutation {
  /** A chore that workers leave out, to show that the checker sees it. */
  readonly withoutBatchLooks?: boolean;
}
