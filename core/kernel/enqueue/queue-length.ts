/** Refuses jobs for queues that are full. Loaded with the first job for a queue with a `maxLength`. */

import { within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import type { OutgoingMessage, QueueBackend, SendResult } from '../../contract/queue.ts';
import type { Client } from './client.ts';
import type { Upload } from './offload.ts';

/** A queue is counted at most once in this time. */
const countMs = 1_000;
/** A count that takes longer is abandoned, so that jobs do not wait for it. */
const patienceMs = 2_000;

interface Length {
  countedAt: number;
  /** Jobs in the queue at the last count; `null` = the count failed, so no job is refused. */
  waiting: number | null;
  /** Jobs that this process has sent since the last count. */
  sent: number;
  counting: Promise<void> | null;
}

const lengths = new WeakMap<QueueBackend, Map<string, Length>>();

type Counter = Pick<Client, 'app' | 'backend'>;
type Send = (
  messages: readonly OutgoingMessage[],
  uploads: readonly Upload[] | null,
) => Promise<SendResult[]>;

/** Sends as many jobs as there is room for; the others are refused with `QUEUE_FULL`. */
export async function sendWithin(
  client: Counter,
  messages: readonly OutgoingMessage[],
  uploads: readonly Upload[] | null,
  send: Send,
): Promise<SendResult[]> {
  const { queueRules } = client.app;
  const queues = [...new Set(messages.map(({ queue }) => queue))];
  const limited = queues.filter((queue) => queueRules.get(queue)?.maxLength != null);
  const counted = await Promise.all(limited.map(async (queue) => [queue, await lengthOf(client, queue)]));
  const lengthsNow = new Map(counted as [string, Length][]);
  // No await between here and the call of `send`, so that concurrent calls see each other's jobs.
  const errors = messages.map(({ queue }): LongshoreError | null => {
    const length = lengthsNow.get(queue);
    if (!length) return null;
    const { maxLength } = queueRules.get(queue)!;
    if (length.waiting !== null && length.waiting + length.sent >= maxLength!) return full(queue, maxLength!);
    length.sent++;
    return null;
  });
  if (errors.every((error) => error === null)) return send(messages, uploads);
  const kept = messages.filter((_, i) => errors[i] === null);
  const ids = new Set(kept.map(({ id }) => id));
  const sent = (await send(kept, uploads?.filter(({ id }) => ids.has(id)) ?? null)).values();
  return messages.map(({ id }, i) => {
    const error = errors[i];
    return error ? { ok: false, id, error } : sent.next().value!;
  });
}

const full = (queue: string, maxLength: number): LongshoreError =>
  new LongshoreError(
    'QUEUE_FULL',
    `Queue "${queue}" is full: ${maxLength} jobs are waiting (maxLength). This job was not enqueued. Enqueue it again later, or run more workers.`,
  );

async function lengthOf(client: Counter, queue: string): Promise<Length> {
  const { app, backend } = client;
  const known = lengths.get(backend) ?? new Map<string, Length>();
  lengths.set(backend, known);
  const length = known.get(queue) ?? { countedAt: -Infinity, waiting: null, sent: 0, counting: null };
  known.set(queue, length);
  if (!length.counting && app.clock.now() - length.countedAt < countMs) return length;
  length.counting ??= count(client, queue, length).finally(() => {
    length.counting = null;
  });
  await length.counting;
  return length;
}

/** Never rejects. */
async function count({ app, backend }: Counter, queue: string, length: Length): Promise<void> {
  const { clock, events } = app;
  const { sent } = length;
  const late = (): never => {
    throw new Error(`no answer for ${patienceMs} ms`);
  };
  try {
    const [stats] = await within(clock, patienceMs, backend.admin!.stats(queue), late);
    length.waiting = stats ? stats.ready + stats.delayed : 0;
    length.sent -= sent;
  } catch (cause) {
    length.waiting = null;
    const during = `counting queue "${queue}"`;
    events.emit({
      type: 'backend.failed',
      backend: backend.name,
      during,
      error: backendError(during, cause),
    });
  }
  length.countedAt = clock.now();
}
