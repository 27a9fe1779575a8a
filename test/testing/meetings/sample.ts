/** A use of a feature that can meet every event: how it is declared, how one enqueues, and what follows. */

import type { Crossed } from '../../../core/features/all-crossings.ts';
import type { AppParts, Process, Run } from './process.ts';

/** A job as its sender was told of it. */
export interface SentJob {
  /** Of the piece of work. Two jobs may share one, where one of them stands for the other. */
  readonly label: string;
  /** Its name. */
  readonly job: string;
  readonly id: string;
  readonly duplicate?: true;
  /** Elapsed ms, when its sender was told of it. */
  readonly sentAt?: number;
  /** By the clock of its host: it must not begin before. */
  readonly notBefore?: number;
}

export interface Sent {
  readonly jobs: readonly SentJob[];
  readonly batches?: readonly string[];
  readonly chains?: readonly string[];
}

/** How a job ended. `gone`: people have ended it. `mended`: it died, was retried, and is done. */
export type Fate = 'done' | 'gone' | 'dead' | 'mended';

/** How often a piece of work is done: exactly, or at least and at most. */
export type Times = number | readonly [least: number, most: number];

export interface Sample {
  /** Other features that it is made of: it is refused where one of them is. */
  readonly also?: readonly Crossed[];
  /** What it promises beside that each job runs. */
  readonly promises: string;
  parts(self: Process): AppParts;
  /** @param round part of every label, and of no key of the feature: the second round meets what the first one has left */
  send(self: Process, round: string): Promise<Sent>;
  /** What people do while the workers are at it. */
  meanwhile?(people: Process, round: string): void;
  /** The time that it asks for itself. */
  readonly asksMs?: number;
  /** Work that its jobs bring about. */
  follows?(fateOf: (label: string) => Fate, round: string): Readonly<Record<string, Times>>;
  /** What else it promises; answers with complaints. */
  check?(seen: Seen): Promise<readonly string[]> | readonly string[];
  /** What holds its jobs back is an order of people, which workers read now and then. */
  readonly isOrdered?: true;
  /** Its jobs leave no record when they end. */
  readonly forgets?: true;
  /** A sender that finds another job in the place of its own takes its own back: where a queue cannot remove it, it ends as cancelled. */
  readonly takesBack?: true;
  /** Its jobs expire a minute after they were sent. */
  readonly expires?: true;
  /** A call changes the job of the call before it. */
  readonly replaces?: true;
  /** The schedules are ticked, as `startLocal` does. */
  readonly ticks?: true;
  /** Large payloads are kept beside the queue. */
  readonly offloads?: true;
  /** The jobs run in a transaction of the queue's database. */
  readonly transacts?: true;
  /** The handlers run in threads. */
  readonly isolates?: true;
  /** What it calls takes no transaction, and sends outside of it. */
  readonly ignoresTx?: true;
}

/** What a sample may look at to judge itself. */
export interface Seen {
  readonly runs: readonly Run[];
  readonly rounds: ReadonlyMap<string, Sent>;
  /** Sees everything, is never cut off, and runs nothing. */
  readonly people: Process;
  /** Ids of jobs of which people were told that they will not run. */
  readonly gone: ReadonlySet<string>;
  /** Ids of jobs whose sender has rolled back. */
  readonly undone: ReadonlySet<string>;
  /** Ids of jobs of which people were told that they have another payload, and since when. */
  readonly changed: ReadonlyMap<string, number>;
  /** Ids of jobs of which people were told that they have another time. */
  readonly times: ReadonlyMap<string, number>;
  /** Payloads that are kept beside the queue, by their keys. */
  readonly payloads: ReadonlyMap<string, Uint8Array>;
}
