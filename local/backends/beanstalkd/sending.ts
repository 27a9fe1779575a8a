/** Puts messages: all of a batch go out together, and each gets its own answer. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { refusal } from './errors.ts';
import type { BeanstalkdState } from './index.ts';
import { rankOf, secondsOf } from './rank.ts';

/** Puts without their answer: so many at once, then the answers are waited for. */
const mostAtOnce = 1_000;

export interface SendingOptions {
  readonly maxBodyBytes: number;
  /** Given to each job: how long a worker that falls silent keeps it. */
  readonly ttrMs: number;
}

export function createSending(state: BeanstalkdState, { maxBodyBytes, ttrMs }: SendingOptions) {
  const { link, clock } = state;
  const ttrSeconds = secondsOf(ttrMs);

  const tooLong = (bytes: number): LongshoreError =>
    new LongshoreError(
      'LIMIT',
      `Expected a message of at most ${maxBodyBytes} bytes, got ${bytes}. Send a reference to the data instead, or give the store claims.`,
    );

  function putOf({ body, priority, notBefore }: OutgoingMessage, bytes: number, now: number): string {
    const readyAt = Math.max(now, notBefore ?? now);
    const rank = rankOf(readyAt, priority, state.ageingMs);
    return `put ${rank} ${secondsOf(readyAt - now)} ${ttrSeconds} ${bytes}\r\n${body}`;
  }

  async function putAll(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const connection = await link.connection();
    const now = clock.now();
    const results: (SendResult | null)[] = [];
    const commands: string[] = [];
    /** For each command the message that it puts; -1 = it only chooses the tube. */
    const places: number[] = [];
    for (const [i, message] of messages.entries()) {
      const { id, queue, body } = message;
      const bytes = Buffer.byteLength(body);
      results.push(bytes > maxBodyBytes ? { ok: false, id, error: tooLong(bytes) } : null);
      if (results[i]) continue;
      const use = link.use(connection, state.tubeOf(queue));
      if (use !== null) commands.push(use);
      if (use !== null) places.push(-1);
      commands.push(putOf(message, bytes, now));
      places.push(i);
    }
    const sending = connection.sendAll(commands);
    connection.flush();
    const replies = await sending;
    for (const [n, { word, number }] of replies.entries()) {
      const i = places[n]!;
      if (i < 0) continue;
      const { id } = messages[i]!;
      if (word === 'INSERTED') results[i] = { ok: true, id, duplicate: false };
      else {
        // Buried: stored, but with no memory to put it into line. There it would stay for ever.
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

  return async function enqueue(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    for (const { queue } of messages) state.tubeOf(queue); // a wrong name stops the call before anything is sent
    const results: SendResult[] = [];
    for (let from = 0; from < messages.length; from += mostAtOnce) {
      results.push(...(await putAll(messages.slice(from, from + mostAtOnce))));
    }
    return results;
  };
}
