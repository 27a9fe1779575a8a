/**
 * Groups acks: jobs that end in the same turn of the event loop, or while other groups are being sent, are settled in one call
 * to the backend. A failed ack is retried for the length of a lease, because a finished job without an ack would run again.
 */

import { type Clock, sleep } from '../../base/clock.ts';
import type { Ack, JobSettler } from '../../contract/queue.ts';

interface Waiting {
  readonly ack: Ack;
  readonly resolve: (settled: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export interface Grouping {
  /** Sends a group, instead of the settler's own `ack`. */
  readonly send: JobSettler['ack'];
  /** Whether the worker has nothing to run until an answer comes. */
  isIdle(): boolean;
  /** How long a failed ack is retried. */
  readonly patienceMs: number;
  /** Called with the error of each group that failed. */
  failed(error: unknown): void;
  readonly clock: Clock;
  random(): number;
}

const longestPauseMs = 1_000;

/** Groups being sent at once. A second group is sent only by an idle worker, so that it need not wait for the first answer. */
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

  /** Retries each ack alone: the group may have failed because of one of them. */
  async function again({ ack, resolve, reject }: Waiting, failure: unknown): Promise<void> {
    const until = clock.now() + patienceMs;
    for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const pausedMs = pauseMs * (0.5 + random() / 2);
      if (stopped || clock.now() + pausedMs >= until) return reject(failure);
      await sleep(clock, pausedMs);
      try {
        return resolve((await settler.ack([ack]))[0] === true);
      } catch {
        // Not reported: the first failure was.
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
    /** Called when the worker has nothing else to do: sends the waiting acks without waiting for an answer. */
    hurry: schedule,
    /** Whether acks wait or are being sent. */
    get busy(): boolean {
      return underWay > 0 || group.length > 0;
    },
    /** Ends the retries: acks that still fail are given up. */
    stop(): void {
      stopped = true;
    },
  };
}
