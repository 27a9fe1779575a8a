/** What happens to a world, and what it excuses. */

import type { Sample } from './sample.ts';
import type { MeetingHarness, World } from './world.ts';

/** What came of a meeting. */
export interface Met {
  /** None = the two get along, or one of them is refused. */
  readonly complaints: readonly string[];
  /** Codes of what was refused. */
  readonly refused: ReadonlySet<string>;
}

/** One moment at which an event comes. */
export interface Meeting {
  /** For people: `while it waits`. */
  readonly when: string;
  /** Another story than that of senders and workers. */
  instead?(sample: Sample, meeting: Meeting, harness: MeetingHarness): Promise<Met>;
  /** Nothing is sent yet. */
  before?(world: World): void | Promise<void>;
  /** All is sent, and no worker has begun. */
  waiting?(world: World): void | Promise<void>;
  /** A handler is at work. */
  running?(world: World): void | Promise<void>;
  /** All has ended. */
  ended?(world: World): void | Promise<void>;
  /** How long the world is upset, beside the time that the sample asks for. */
  readonly takesMs?: number;
  /** What people ask for does not reach workers meanwhile, or comes late. */
  readonly deafens?: true;
  /** Jobs come to be in two places, which keep no order, limits and keys between them. */
  readonly splits?: true;
  /** So many times more work may be done: a worker did it, and could not say so. */
  readonly again?: number;
}

export interface Happening {
  /** It says nothing of the backend: memory alone is enough. */
  readonly ofAllBackends?: true;
  readonly meetings: readonly Meeting[];
}
