/** What happens to a world, and what it excuses. */

import type { World } from './world.ts';

export interface Meeting {
  /** The moment, for people. */
  readonly when: string;
  before?(world: World): void | Promise<void>;
  /** All is sent, and no worker has begun. */
  waiting?(world: World): void | Promise<void>;
  /** A handler is at work. */
  running?(world: World): void | Promise<void>;
  /** How long the world is upset, beside the time that the feature asks for. */
  readonly takesMs?: number;
  /** Work may be done once more so many times: a worker has died after its effect and before its answer. */
  readonly again?: number;
  /** An attempt is spent. */
  readonly interrupts?: true;
}

export interface Happening {
  readonly name: string;
  readonly meetings: readonly Meeting[];
}
