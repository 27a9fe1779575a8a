/**
 * Groups acks: jobs that end in the same turn of the event loop, or while enough groups are under way, are settled in one call
 * to the backend.
 */

import type { Ack, JobSettler } from './contract.ts';

interface Waiting {
  readonly ack: Ack;
  readonly resolve: (settled: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupingSettler extends JobSettler {
  /** Whether acks wait or are under way. */
  readonly busy: boolean;
}

/** With one, a worker would stand still while the backend settles, and the backend while the worker works. */
const mostUnderWay = 2;

/** @param send called with each group, instead of the settler's own `ack` */
export function groupAcks(settler: JobSettler, send: JobSettler['ack']): GroupingSettler {
  let group: Waiting[] = [];
  let underWay = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || group.length === 0 || underWay === mostUnderWay) return;
    scheduled = true;
    setImmediate(flush);
  }

  async function flush(): Promise<void> {
    scheduled = false;
    const sending = group;
    group = [];
    underWay++;
    try {
      const settled = await send(sending.map(({ ack }) => ack));
      for (let i = 0; i < sending.length; i++) sending[i]!.resolve(settled[i] === true);
    } catch (error) {
      for (const { reject } of sending) reject(error);
    } finally {
      underWay--;
      schedule();
    }
  }

  function add(ack: Ack): Promise<boolean> {
    return new Promise((resolve, reject) => {
      group.push({ ack, resolve, reject });
      schedule();
    });
  }

  return {
    get busy() {
      return underWay > 0 || group.length > 0;
    },
    ack: async (acks) => (acks.length === 1 ? [await add(acks[0]!)] : Promise.all(acks.map(add))),
    nack: (lease, how) => settler.nack(lease, how),
    abandon: (lease, why) => settler.abandon(lease, why),
    renew: (leases, leaseMs) => settler.renew(leases, leaseMs),
  };
}
