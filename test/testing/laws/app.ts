/** An app with one job that does nothing unless `parts` say otherwise, for laws that need a worker or an attempt. */

import { systemClock } from '../../../core/base/clock.ts';
import { type App, createApp, defineJob, type HandlerContext, keyRing } from '../../../core/index.ts';
import type { Breaker } from '../../../core/kernel/app/breaker.ts';
import type { Limits } from '../../../core/kernel/app/flow-control.ts';
import { type Kit, mail } from './kit.ts';

const signing = keyRing([{ kid: 'law', secret: new Uint8Array(32) }]);
const anything = {
  '~standard': { version: 1, vendor: 'longshore', validate: (value: unknown) => ({ value }) },
} as const;

export interface Parts extends Limits {
  readonly maxRetries?: number;
  readonly breaker?: Breaker;
  readonly idempotencyKey?: (payload: unknown) => string;
  readonly handle?: (payload: unknown, ctx: HandlerContext) => unknown;
}

/** @param skewMs how far its clock is ahead of the queue's, now */
export function appOf(t: Kit, skewMs: number | (() => number) = 0, parts: Parts = {}): App {
  const job = defineJob({ name: 'invoice.send', queue: mail, payload: anything, handle: () => {}, ...parts });
  const steadyNow = () => Math.floor(t.now());
  const now = () => steadyNow() + (typeof skewMs === 'number' ? skewMs : skewMs());
  const clock = { now, steadyNow, after: systemClock.after };
  return createApp({ jobs: [job], signing, clock });
}
