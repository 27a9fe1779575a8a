import type { LongshoreEvent } from '../../core/base/events.ts';

/** Finds those of one type among what an app has emitted by then. */
export const eventsIn =
  (events: readonly LongshoreEvent[]) =>
  <T extends LongshoreEvent['type']>(type: T) =>
    events.filter((event) => event.type === type) as Extract<LongshoreEvent, { type: T }>[];
