/** A queue in Redis 6.2 or newer, or Valkey, for any number of processes and hosts. As durable as the server's append-only file. */

import type { QueueBackend } from '../../../core/contract/queue.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import { createEndWatches, type EndWatches } from '../shared/end-watches.ts';
import { redisAdmin } from './admin.ts';
import { createEnqueue } from './enqueue.ts';
import { createFetch, createLeases, createSettler } from './leases.ts';
import { createListener, type Listener } from './listener.ts';
import { type RedisOptions, resolveOptions } from './options.ts';
import { redisRecords } from './records.ts';
import { redisBatches, redisKeys, redisLimits } from './script-stores.ts';
import { createState, type RedisState } from './state.ts';
import { redisTexts } from './texts.ts';
import { redisWaiting } from './waiting.ts';

export type { QueueBackend } from '../../../core/contract/queue.ts';
export type { RedisBudget, RedisOptions } from './options.ts';

export function redis(urlOrOptions: string | RedisOptions): QueueBackend {
  const options = resolveOptions(urlOrOptions);
  const { listen, maxBodyBytes } = options;
  const state = createState(options);
  const leases = createLeases(state);
  const { ackAndFetch, ...settler } = createSettler(state, leases);
  const listener = listen ? createListener(options.link, { wake }) : null;
  const texts = redisTexts(state);
  const ends = listener && redisEnds(state, listener);

  function wake(message?: string, channel?: string): void {
    if (channel?.endsWith(ended)) ends!.told(message!);
    else state.waiters.wake();
    if (channel === undefined) ends!.changed();
  }

  return {
    name: 'redis',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    keepsOrder: () => true,
    stores: {
      keys: redisKeys(state),
      records: redisRecords(state, texts, ends),
      ...storesOf(texts, state.clock),
      limits: redisLimits(state),
      batches: redisBatches(state),
    },
    admin: redisAdmin(state),
    async now() {
      const [seconds, micros] = (await state.link.send('reading the time', ['TIME'])) as [string, string];
      return Number(state.at() || Number(seconds) * 1000 + Math.floor(Number(micros) / 1000));
    },
    ...settler,
    hints: { ackAndFetch, reapsForAll: true, freeWaits: true },
    enqueue: createEnqueue(state),
    fetch: createFetch(state, leases, listener),
    pending: redisWaiting(state),
    onWarning: state.onWarning,

    async close() {
      if (!state.isOpen) return;
      state.isOpen = false;
      state.waiters.wake();
      ends?.close();
      await Promise.all([listener?.close(), state.link.close()]);
    },
  };
}

/** Learns from PUBLISH that jobs have ended, on the connection that also announces new jobs. */
function redisEnds(
  { clock, base, manage }: RedisState,
  listener: Pick<Listener, 'start' | 'hears'>,
): EndWatches {
  const channels = ({ queue }: { readonly queue: string }) => [`${base(queue)}${ended}`];
  return createEndWatches(clock, {
    start: (job) => listener.start(channels(job)),
    hears: (job) => listener.hears(channels(job)),
    register: (jobs, holdMs) =>
      Promise.all(
        [...Map.groupBy(jobs, ({ queue }) => queue)].map(([queue, mine]) =>
          manage('waiting for a job', queue, 'watch', [`${holdMs}`, ...mine.map(({ id }) => id)]),
        ),
      ),
  });
}

/** Suffix of the channel that announces ended jobs of a queue. As in jobs.lua. */
const ended = ':ended';
