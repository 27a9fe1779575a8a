/** Informs the monitor of a schedule when a run of its job begins and how it ends. Never changes the result. */

import { door } from '../../base/lazy.ts';
import type { Step } from '../../kernel/attempt/attempt.ts';
import type { Feature } from '../feature.ts';

const code = door(() => import('./ping.ts'));

export const pinged = {
  // `scheduleFor` rules out other jobs with the same name.
  for: ({ app, envelope }) => app.pinged.has(envelope?.name ?? ''),
  run: (it, next) =>
    code(({ pingStart }) => {
      pingStart(it);
      return next();
    }),

  async settle(it, end, next) {
    const settled = await next(end);
    if (settled) await code(({ pingEnd }) => pingEnd(it, end.verdict));
    return settled;
  },
} satisfies Step;

export const pings = {
  run: { monitor: pinged },
  end: { monitor: pinged },
} satisfies Feature;
