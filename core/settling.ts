/** Groups acks: jobs that end in the same turn of the event loop are settled in one call to the backend. */

import type { Ack, JobSettler } from './contract.ts';

interface Waiting {
  readonly ack: Ack;
  readonly resolve: (settled: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** @param send called with each group, instead of the settler's own `ack` */
export function groupAcks(settler: JobSettler, send: JobSettler['ack']): JobSettler {
  let group: Waiting[] = [];

  async function flush(): Promise<void> {
    const sending = group;
    group = [];
    try {
      const settled = await send(sending.map(({ ack }) => ack));
      for (let i = 0; i < sending.length; i++) sending[i]!.resolve(settled[i] === true);
    } catch (error) {
      for (const { reject } of sending) reject(error);
    }
  }

  function add(ack: Ack): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (group.push({ ack, resolve, reject }) === 1) setImmediate(flush);
    });
  }

  return {
    ack: async (acks) => (acks.length === 1 ? [await add(acks[0]!)] : Promise.all(acks.map(add))),
    nack: (lease, how) => settler.nack(lease, how),
    abandon: (lease, why) => settler.abandon(lease, why),
    renew: (leases, leaseMs) => settler.renew(leases, leaseMs),
  };
}
