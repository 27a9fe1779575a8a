/** Messages that have a group are stored by a script of their own, which puts them into the lines of their groups. */

import type { OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { jobText } from './rows.ts';
import { scripts } from './scripts.ts';
import { nextSortKey } from './sort-key.ts';
import type { RedisState } from './state.ts';

/** One script call, for messages of one queue. */
export function createGroupedInsert(state: RedisState) {
  return async (messages: readonly OutgoingMessage[]): Promise<SendResult[]> => {
    const now = state.clock.now();
    const { queue } = messages[0]!;
    const args = [...state.common(), state.channel(queue)];
    for (const message of messages) {
      const { id, priority, notBefore, hints } = message;
      const waitMs = notBefore === null ? 0 : Math.max(0, Math.ceil(notBefore - now));
      const sortKey = nextSortKey(priority);
      const text = jobText(message, sortKey, now, now + waitMs);
      args.push(sortKey + id, text, `${waitMs}`, hints?.isNew ? '1' : '0');
    }
    const running = state.link.run('enqueueing', scripts.grouped, state.base(queue), args);
    const [answer] = await Promise.all([running, state.register(queue)]);
    state.waiters.wake(queue);
    const duplicates = new Set(answer as number[]);
    return messages.map(({ id }, i) => ({ ok: true, id, duplicate: duplicates.has(i) }));
  };
}
