/** A use of a feature that can meet every event: how it is declared, how it enqueues, and what follows. */

import type { Crossed } from '../../../core/features/all-crossings.ts';
import type { AppParts, Process, Run } from './process.ts';

/** A job as `enqueue` returned it. */
export interface SentJob {
  /** Label of the piece of work. Two jobs share a label if one is a duplicate of the other. */
  readonly label: string;
  /** Name of the job. */
  readonly job: string;
  readonly id: string;
  readonly duplicate?: true;
  /** Elapsed ms when `enqueue` returned. */
  readonly sentAt?: number;
  /** The job must not begin before this time, by the clock of its host. */
  readonly notBefore?: number;
}

export interface Sent {
  readonly jobs: readonly SentJob[];
  readonly batches?: readonly string[];
  readonly chains?: readonly string[];
}

/** How a job ended. `gone`: an operator ended it. `mended`: it was a dead letter, was retried, and is done. */
export type Fate = 'done' | 'gone' | 'dead' | 'mended';

/** How often a piece of work is done: an exact number, or a minimum and a maximum. */
export type Times = number | readonly [least: number, most: number];

export interface Sample {
  /** Other features that it uses. If one of them is refused, the sample is refused too. */
  readonly also?: readonly Crossed[];
  /** The promise of the feature, in addition to running each job. */
  readonly promises: string;
  parts(self: Process): AppParts;
  /** @param round part of every label, but of no key of the feature, so that the second round meets leftovers of the first */
  send(self: Process, round: string): Promise<Sent>;
  /** Actions of operators while the workers run. */
  meanwhile?(people: Process, round: string): void;
  /** Extra time that the sample needs. */
  readonly asksMs?: number;
  /** Further work that its jobs cause. */
  follows?(fateOf: (label: string) => Fate, round: string): Readonly<Record<string, Times>>;
  /** Checks further promises; returns complaints. */
  check?(seen: Seen): Promise<readonly string[]> | readonly string[];
  /** Its jobs are held back by an operator, which workers notice only from time to time. */
  readonly isOrdered?: true;
  /** Its jobs leave no record when they end. */
  readonly forgets?: true;
  /** A sender that finds another job in place of its own removes its own job. If the queue cannot remove it, it ends as cancelled. */
  readonly takesBack?: true;
  /** Its jobs expire a minute after they were sent. */
  readonly expires?: true;
  /** A call changes the job of the previous call. */
  readonly replaces?: true;
  /** Schedules are ticked, like in `startLocal`. */
  readonly ticks?: true;
  /** Large payloads are stored outside the queue. */
  readonly offloads?: true;
  /** The jobs run in a transaction of the queue's database. */
  readonly transacts?: true;
  /** The handlers run in threads. */
  readonly isolates?: true;
  /** Its calls take no transaction, and send outside of it. */
  readonly ignoresTx?: true;
}

/** The data that a sample can check. */
export interface Seen {
  readonly runs: readonly Run[];
  readonly rounds: ReadonlyMap<string, Sent>;
  /** A process that sees everything, is never cut off, and runs no jobs. */
  readonly people: Process;
  /** Ids of jobs whose removal or cancellation was confirmed. */
  readonly gone: ReadonlySet<string>;
  /** Ids of jobs whose sender rolled back. */
  readonly undone: ReadonlySet<string>;
  /** Ids of jobs with a confirmed new payload, and since when. */
  readonly changed: ReadonlyMap<string, number>;
  /** Ids of jobs with a confirmed new time. */
  readonly times: ReadonlyMap<string, number>;
  /** Payloads that are stored outside the queue, by key. */
  readonly payloads: ReadonlyMap<string, Uint8Array>;
}
