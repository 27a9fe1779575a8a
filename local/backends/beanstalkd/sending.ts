/** Puts messages: all of a batch leave together, and each gets its own answer. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { slices } from '../../../core/base/slices.ts';
import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { refusal } from './errors.ts';
import { createFairRanks } from './fair-ranks.ts';
import { rankOf, secondsOf } from './rank.ts';
import type { BeanstalkdState } from './state.ts';

/** Puts without their answer: after so many the answers are waited for. */
const mostAtOnce = 1_000;

export function createEnqueue(state: BeanstalkdState): JobSender['enqueue'] {
  const { link, clock, ageingMs, ttrMs, maxBodyBytes } = state;

  const ranks = createFairRanks(state);

  function putOf({ queue, group, body, priority, notBefore }: OutgoingMessage, now: number): string {
    const readyAt = Math.max(now, notBefore ?? now);
    // A delayed one takes no turn: those that are sent until its time comes would stand behind it.
    const countsFrom =
      group === null || readyAt > now ? readyAt : ranks.next(state.tubeOf(queue), group, now);
    const rank = rankOf(countsFrom, priority, ageingMs);
    const bytes = Buffer.byteLength(body);
    return `put ${rank} ${secondsOf(readyAt - now)} ${secondsOf(ttrMs)} ${bytes}\r\n${body}`;
  }

  async function putAll(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const grouped = messages.filter(({ group }) => group !== null);
    if (grouped.length > 0) await ranks.look(new Set(grouped.map(({ queue }) => state.tubeOf(queue))));
    const connection = await link.connection();
    const now = clock.now();
    const results: (SendResult | null)[] = [];
    const commands: string[] = [];
    /** For each command the index of the message that it puts; -1 = it only chooses the tube. */
    const indexes: number[] = [];
    for (const [i, message] of messages.entries()) {
      const { id, queue, body } = message;
      const error = tooLarge(body, maxBodyBytes);
      results.push(error && { ok: false, id, error });
      if (error) continue;
      const use = link.use(connection, state.tubeOf(queue));
      if (use !== null) commands.push(use);
      if (use !== null) indexes.push(-1);
      commands.push(putOf(message, now));
      indexes.push(i);
    }
    const sending = connection.sendAll(commands);
    connection.flush();
    const replies = await sending;
    for (const [n, { word, number }] of replies.entries()) {
      const i = indexes[n]!;
      if (i < 0) continue;
      const { id } = messages[i]!;
      if (word === 'INSERTED') results[i] = { ok: true, id, duplicate: false };
      else {
        // Stored, but the server has no memory to make it ready. Buried it would stay for ever.
        if (word === 'BURIED') await connection.send(`delete ${number}`).catch(() => {});
        const error = refusal('putting a job', word === 'BURIED' ? 'OUT_OF_MEMORY' : word);
        results[i] = { ok: false, id, error };
      }
    }
    const cause = connection.reason;
    return results.map((result, i) => {
      if (result) return result;
      const text = `The connection to beanstalkd was lost before it said whether it has taken the message: ${cause?.message}.`;
      return { ok: false, id: messages[i]!.id, error: new LongshoreError('BACKEND', text, { cause }) };
    });
  }

  return async (messages) => {
    for (const { queue } of messages) state.tubeOf(queue); // a wrong name stops the call before anything is sent
    const results: SendResult[] = [];
    for (const some of slices(messages, mostAtOnce)) results.push(...(await putAll(some)));
    return results;
  };
}

/** Puts a job that no worker sees, and deletes it. */
export async function probe({ link }: BeanstalkdState): Promise<void> {
  const { word, number } = await link.send('put 0 60 1 0', { tube: 'longshore.probe', body: '' });
  await link.send(`delete ${number}`, { tube: 'default' }); // a tube that no connection uses is gone
  if (word !== 'INSERTED') throw refusal('putting a job', word === 'BURIED' ? 'OUT_OF_MEMORY' : word);
}
