/**
 * SQS knows no priorities. So a queue may have lanes: queues of SQS, each for some priorities. Workers look at them by weight.
 * Urgent lanes come first more often, and each lane comes first now and then, so that none starves.
 */

import { priorities } from '../../../core/base/priority.ts';
import type { LaneName, QueueAddress } from './queues.ts';

/** How often a lane comes first. */
const weights: Readonly<Record<LaneName, number>> = { critical: 8, high: 4, normal: 2, low: 1 };

/** The lane of a message: its own, or the next existing one towards `normal`, which always exists. */
export function laneOf(lanes: readonly QueueAddress[], priority: number): QueueAddress {
  const { high, normal } = priorities;
  // 0 to 1, 2 to 4, 5 to 7, 8 to 9
  const name =
    priority < high ? 'critical' : priority < normal ? 'high' : priority < priorities.low ? 'normal' : 'low';
  const towards: readonly LaneName[] = name === 'critical' ? [name, 'high', 'normal'] : [name, 'normal'];
  return towards.flatMap((lane) => lanes.find((address) => address.lane === lane) ?? [])[0]!;
}

/** Smooth weighted round robin: of 15 times `low` is first once and `critical` eight times, evenly spread. */
export function createLaneOrder() {
  const credit = new Map<string, number>();
  return {
    /** The lanes of a queue in the order in which they are looked at this time. */
    next(lanes: readonly QueueAddress[]): QueueAddress[] {
      if (lanes.length === 1) return [...lanes];
      const total = lanes.reduce((sum, { lane }) => sum + weights[lane], 0);
      let first = lanes[0]!;
      for (const address of lanes) {
        credit.set(address.url, (credit.get(address.url) ?? 0) + weights[address.lane]);
        if (credit.get(address.url)! > credit.get(first.url)!) first = address;
      }
      credit.set(first.url, credit.get(first.url)! - total);
      return [first, ...lanes.filter((address) => address !== first)];
    },
  };
}
