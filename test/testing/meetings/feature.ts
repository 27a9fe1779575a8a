/** What a feature says of itself, so that it can meet every event: how it is declared, how one enqueues, and what follows. */

import type { Job } from '../../../core/index.ts';
import type { AppParts, Process, Run } from './process.ts';

/** A job as its sender was told of it. */
export interface SentJob {
  readonly label: string;
  readonly job: Job<never>;
  readonly id: string;
  readonly duplicate?: true;
}

export interface Sent {
  readonly jobs: readonly SentJob[];
  readonly batches?: readonly string[];
  readonly chains?: readonly string[];
}

/** How the work of a label ended: `gone` = people have ended it, and were told so. */
export type Fate = 'done' | 'gone' | 'dead';

export interface Feature {
  readonly name: string;
  /** What it promises beside that each job runs. */
  readonly promises: string;
  app(self: Process): AppParts;
  /** @param round part of every label, and of no key of the feature: the second round meets what the first one has left */
  send(self: Process, round: string): Promise<Sent>;
  /** The time that it asks for itself. */
  readonly asksMs?: number;
  /** Work that its jobs bring about: how often each label is done. */
  follows?(fateOf: (label: string) => Fate, round: string): Readonly<Record<string, number>>;
  /** What else it promises; answers with complaints. */
  check?(seen: Seen): Promise<readonly string[]> | readonly string[];
}

/** What a feature may look at to judge itself. */
export interface Seen {
  readonly runs: readonly Run[];
  readonly rounds: ReadonlyMap<string, Sent>;
  /** Sees everything, is never cut off, and runs nothing. */
  readonly people: Process;
}
