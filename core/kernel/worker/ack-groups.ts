/**
 * Groups acks: jobs that end in the same turn of the event loop, or while enough groups are under way, are settled in one call
 * to the backend. An ack that fails is tried again for as long as a lease lasts: giving it up means that the job runs again,
 * though it has done its work.
 */

import { type Clock, sleep } from '../../base/clock.ts';
import type { Ack, JobSettler } from '../../contract/queue.ts';

interface Waiting {
  readonly ack: Ack;
  readonly resolve: (settled: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export interface Grouping {
  /** Called with each group, instead of the settler's own `ack`. */
  readonly send: JobSettler['ack'];
  /** Whether there is nothing to run before an answer has come. */
  isIdle(): boolean;
  /** How long an ack that fails is tried again. */
  readonly patienceMs: number;
  /** Called with the error of each group that failed. */
  failed(error: unknown): void;
  readonly clock: Clock;
  random(): number;
}

const longestPauseMs = 1_000;

/** A second one leaves when the worker has nothing else to do, so that it does not stand still until the first is answered. */
const mostUnderWay = 2;

export type AckGroups = ReturnType<typeof groupAcks>;

export function groupAcks(
  settler: JobSettler,
  { send, isIdle, patienceMs, failed, clock, random }: Grouping,
) {
  let stopped = false;
  let group: Waiting[] = [];
  let underWay = 0;
  let scheduled = false;

  function schedule(): void {
    const isFree = underWay === 0 || (underWay < mostUnderWay && isIdle());
    if (scheduled || group.length === 0 || !isFree) return;
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
      failed(error);
      for (const one of sending) void again(one, error);
    } finally {
      underWay--;
      schedule();
    }
  }

  /** Each by itself: it may be one of them that no database would take. */
  async function again({ ack, resolve, reject }: Waiting, failure: unknown): Promise<void> {
    const until = clock.now() + patienceMs;
    for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const pausedMs = pauseMs * (0.5 + random() / 2);
      if (stopped || clock.now() + pausedMs >= until) return reject(failure);
      await sleep(clock, pausedMs);
      try {
        return resolve((await settler.ack([ack]))[0] === true);
      } catch {
        // The first failure was reported.
      }
    }
  }

  return {
    ack(ack: Ack): Promise<boolean> {
      return new Promise((resolve, reject) => {
        group.push({ ack, resolve, reject });
        schedule();
      });
    },
    /** Called when the worker has nothing else to do: acks that wait for an answer wait no longer. */
    hurry: schedule,
    /** Whether acks wait or are under way. */
    get busy(): boolean {
      return underWay > 0 || group.length > 0;
    },
    /** What still fails is given up. */
    stop(): void {
      stopped = true;
    },
  };
}
