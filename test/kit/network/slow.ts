/** A server that is far away: whatever is sent to it, and whatever it answers, arrives later. */

import type { Socket } from 'node:net';
import { type Between, startBetween } from './between.ts';

/** @param roundTripMs to the server and back */
export function startSlow(url: string, roundTripMs: number): Promise<Between> {
  const carry = (from: Socket, to: Socket): void => {
    from.setNoDelay(true).on('data', (bytes) => {
      // In order: timers of one length end in the order in which they began.
      setTimeout(() => to.writable && to.write(bytes), roundTripMs / 2);
    });
    // After what was sent before.
    from.on('close', () => setTimeout(() => to.destroySoon(), roundTripMs / 2));
  };
  return startBetween(url, (near, far) => {
    carry(near, far);
    carry(far, near);
  });
}
