/** What happens to a world, and what it excuses. */

import type { Feature } from './feature.ts';
import type { World } from './world.ts';

/** One moment at which an event comes. */
export interface Meeting {
  /** For people: `while it waits`. */
  readonly when: string;
  /** Another story than that of senders and workers. */
  instead?(feature: Feature, meeting: Meeting): Promise<string[]>;
  /** Nothing is sent yet. */
  before?(world: World): void | Promise<void>;
  /** All is sent, and no worker has begun. */
  waiting?(world: World): void | Promise<void>;
  /** A handler is at work. */
  running?(world: World): void | Promise<void>;
  /** All has ended. */
  ended?(world: World): void | Promise<void>;
  /** How long the world is upset, beside the time that the feature asks for. */
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
