/** Puts messages: all of a batch go out together, and each gets its own answer. */

import type { OutgoingMessage, SendResult } from '../../../core/contract.ts';
import { LongshoreError } from '../../../core/errors.ts';
import type { Connection } from './connection.ts';
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
  async function put(connection: Connection, message: OutgoingMessage, now: number): Promise<SendResult> {
    const { id, body, priority, notBefore } = message;
    const refuse = (error: LongshoreError): SendResult => ({ ok: false, id, error });
    const bytes = Buffer.byteLength(body);
    if (bytes > maxBodyBytes) {
      const text = `Expected a message of at most ${maxBodyBytes} bytes, got ${bytes}. Send a reference to the data instead, or give the store claims.`;
      return refuse(new LongshoreError('LIMIT', text));
    }
    const readyAt = Math.max(now, notBefore ?? now);
    const rank = rankOf(readyAt, priority, state.ageingMs);
    const line = `put ${rank} ${secondsOf(readyAt - now)} ${secondsOf(ttrMs)} ${bytes}`;
    try {
      const { word, number } = await connection.send(line, body);
      if (word === 'INSERTED') return { ok: true, id, duplicate: false };
      // Stored, but with no memory to put it into line: there it would stay for ever.
      if (word === 'BURIED') await connection.send(`delete ${number}`);
      return refuse(refusal('putting a job', word === 'BURIED' ? 'OUT_OF_MEMORY' : word));
    } catch (error) {
      return refuse(error as LongshoreError);
    }
  }

  return async function enqueue(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    if (messages.length === 0) return [];
    const tubes = messages.map(({ queue }) => state.tubeOf(queue));
    const results: SendResult[] = [];
    for (let from = 0; from < messages.length; from += mostAtOnce) {
      const connection = await state.link.connection();
      const now = state.clock.now();
      let used = '';
      const puts = messages.slice(from, from + mostAtOnce).map((message, i) => {
        const tube = tubes[from + i]!;
        if (tube !== used) void connection.send(`use ${tube}`).catch(() => {}); // its put fails too
        used = tube;
        return put(connection, message, now);
      });
      results.push(...(await Promise.all(puts)));
    }
    return results;
  };
}
