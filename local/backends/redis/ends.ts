/** Hears of the ends of jobs by PUBLISH, on the connection that also hears of new ones. */

import { createEndWatches, type EndWatches } from '../shared/end-watches.ts';
import type { Listener } from './listener.ts';
import type { RedisState } from './state.ts';

export function redisEnds(
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

/** How the channel of a queue's ends is called, after the queue. As in jobs.lua. */
export const ended = ':ended';
