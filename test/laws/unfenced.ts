/**
 * A queue that is wrong in exactly one way: it knows a message, but not who owns it. Any lease ever given out for a
 * message settles it, also one that expired or whose message another worker has claimed since. This is the mistake
 * of a queue that settles by job id; the laws must notice it.
 */

import type { Clock } from '../../core/base/clock.ts';
import type { JobLease, QueueBackend } from '../../core/contract/queue.ts';
import { memory } from '../../local/backends/memory/index.ts';

const foreverMs = 1e12;

interface Held {
  /** What the queue underneath accepts; it never expires there. */
  readonly real: JobLease;
  until: number;
}

export function unfenced(options: { clock: Clock }): QueueBackend {
  const { clock } = options;
  const queue = memory(options);
  /** By body: the messages that are out, whoever has them. */
  const out = new Map<string, Held>();
  /** The lease that would be right, instead of the one that was shown. */
  const right = (lease: JobLease): JobLease => out.get(lease.body)?.real ?? lease;

  return {
    ...queue,
    name: 'unfenced',

    async fetch(request) {
      const leases = await queue.fetch({ ...request, leaseMs: foreverMs });
      const until = clock.now() + request.leaseMs;
      for (const real of leases) out.set(real.body, { real, until });
      return leases.map((real) => ({ ...real, expiresAt: until }));
    },

    async reapExpired(name) {
      for (const [body, { real, until }] of out) {
        if (real.queue !== name || until > clock.now()) continue;
        await queue.renew([real], 0);
        out.delete(body);
      }
      return queue.reapExpired(name);
    },

    async ack(acks) {
      const answers = await queue.ack(acks.map((ack) => ({ ...ack, lease: right(ack.lease) })));
      for (const { lease } of acks) out.delete(lease.body);
      return answers;
    },

    async nack(lease, how) {
      const answer = await queue.nack(right(lease), how);
      out.delete(lease.body);
      return answer;
    },

    async abandon(lease, why) {
      const answer = await queue.abandon(right(lease), why);
      out.delete(lease.body);
      return answer;
    },

    async renew(leases, leaseMs) {
      return leases.map(({ body }) => {
        const held = out.get(body);
        if (held) held.until = clock.now() + leaseMs;
        return held !== undefined;
      });
    },
  };
}
