/** Tells the monitor of a schedule when a run of its job begins and how it ends. Never changes how it ends. */

import type { Step } from './attempt.ts';

/** With the first job of a schedule that pings. */
const load = () => import('./ping.ts');

export const pinged = {
  // A job that only has the name of the schedule is found out there.
  for: ({ app, envelope }) => app.pinged.has(envelope?.name ?? ''),

  async run(it, next) {
    (await load()).pingStart(it);
    return next();
  },

  async settle(it, end, next) {
    const settled = await next(end);
    if (settled) await (await load()).pingEnd(it, end.verdict);
    return settled;
  },
} satisfies Step;
