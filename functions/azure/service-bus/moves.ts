/**
 * A message is given back in two steps: its copy is sent, then it is completed. A process that is killed in between leaves
 * both. So what is about to happen is written down first: whoever gets the message again sends the same copy once more,
 * which Service Bus drops as a duplicate, instead of running the job.
 */

import type { KeyStore } from '../../../core/contract/store.ts';
import type { Letter } from './letters.ts';
import { messageIdOf, type Tags } from './message.ts';

/** What the copy says. */
export interface Move {
  readonly attempts: number;
  readonly interrupted: boolean;
  readonly notBefore: number | null;
  /** Not back to its queue, but to the dead letters of a function. */
  readonly letter?: Letter;
}

export interface Moves {
  note(entity: string, tags: Tags, owner: string, move: Move): Promise<void>;
  /** What was begun with this message; `null` = nothing. */
  recall(entity: string, tags: Tags, owner: string): Promise<Move | null>;
}

const holdMs = 30_000;
/** A message whose process was killed comes back when its lock ends: minutes, and what its queue is behind. */
const keepMs = 86_400_000;

export function createMoves(keys: KeyStore, now: () => number): Moves {
  const keyOf = (entity: string, tags: Tags): string => `servicebus-moved:${entity}:${messageIdOf(tags)}`;

  return {
    async note(entity, tags, owner, move) {
      const key = keyOf(entity, tags);
      const claim = await keys.claim(key, owner, now() + holdMs);
      // Completed: the same move was begun before, and is what whoever comes next will repeat.
      if (claim.state !== 'claimed') return;
      await keys.complete(key, owner, { value: JSON.stringify(move), keepUntil: now() + keepMs });
    },
    async recall(entity, tags, owner) {
      const key = keyOf(entity, tags);
      const claim = await keys.claim(key, owner, now() + holdMs);
      if (claim.state === 'claimed') await keys.release(key, owner);
      return claim.state === 'completed' && claim.value !== null ? (JSON.parse(claim.value) as Move) : null;
    },
  };
}
