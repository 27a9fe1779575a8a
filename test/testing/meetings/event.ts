/** Events: what happens in a world, and which irregularities this excuses. */

import type { Sample } from './sample.ts';
import type { MeetingHarness, World } from './world.ts';

/** The result of a meeting. */
export interface Met {
  /** Empty = the feature works with the event, or is refused. */
  readonly complaints: readonly string[];
  /** Codes of refused calls. */
  readonly refused: ReadonlySet<string>;
}

/** One time at which an event happens. */
export interface Meeting {
  /** For messages: `while it waits`. */
  readonly when: string;
  /** Replaces the usual course with senders and workers. */
  instead?(sample: Sample, meeting: Meeting, harness: MeetingHarness): Promise<Met>;
  /** Nothing is sent yet. */
  before?(world: World): void | Promise<void>;
  /** All jobs are sent, and no worker has started. */
  waiting?(world: World): void | Promise<void>;
  /** A handler is running. */
  running?(world: World): void | Promise<void>;
  /** All jobs have ended. */
  ended?(world: World): void | Promise<void>;
  /** How long the disturbance lasts, in addition to the time of the sample. */
  readonly takesMs?: number;
  /** Requests of operators do not reach workers meanwhile, or come late. */
  readonly deafens?: true;
  /** Jobs end up in two queues, which share no order, limits and keys. */
  readonly splits?: true;
  /** How many extra times work may be done, because a worker did it and could not report it. */
  readonly again?: number;
}

export interface Happening {
  /** Does not depend on the backend, so it runs on memory only. */
  readonly ofAllBackends?: true;
  readonly meetings: readonly Meeting[];
}
