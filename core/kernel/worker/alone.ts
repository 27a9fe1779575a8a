/**
 * A job that ends its process (out of memory, `process.exit`, a native crash) also ends the jobs beside it. They come back together, each with
 * one attempt less, so one bad job could use up the attempts of healthy ones. After two such ends, or before its last attempt, a job runs alone.
 */

import type { JobLease } from '../../contract/queue.ts';
import { readEnvelope } from '../../envelope/envelope.ts';
import type { App } from '../app/app.ts';
import type { Run } from '../attempt/run.ts';

/** After the first end of a process its jobs run side by side once more, because most processes end for other reasons. */
const attemptsTogether = 2;

export interface AloneOptions {
  readonly app: App;
  /** How long a suspect waits for running jobs, and then how long no other job begins beside it. */
  readonly patienceMs: number;
  /** Called when a job may begin that had to wait. */
  changed(): void;
}

/** Tracks the job that must run alone in a worker. */
export function runningAlone({ app, patienceMs, changed }: AloneOptions) {
  let suspect: Run | null = null;
  let isPatient = false;
  let stopTimer = () => {};

  function later(work: () => void): void {
    stopTimer();
    stopTimer = app.clock.after(patienceMs, () => {
      work();
      changed();
    });
  }

  return {
    /** A job runs alone, or waits to: nothing is fetched, and no other job begins. */
    get active(): boolean {
      return suspect !== null;
    },
    is: (run: Run): boolean => run === suspect,
    /** Marks the run as the suspect. The worker gives back the rest of its buffer, which would be lost with the process. */
    wait(run: Run): void {
      suspect = run;
      isPatient = true;
      later(() => {
        isPatient = false;
      });
    },
    /** Whether the next job of the buffer may begin. @param isBusy other jobs run or are being settled */
    mayBegin: (next: Run | undefined, isBusy: boolean): boolean =>
      suspect === null || (next === suspect && !(isBusy && isPatient)),
    begins(run: Run): void {
      if (run !== suspect) return;
      later(() => {
        suspect = null;
      });
    },
    /** Called when a handler has ended or a lease is lost. */
    over(run: Run): void {
      if (run !== suspect) return;
      suspect = null;
      stopTimer();
    },
    stop: () => stopTimer(),
  };
}

/** Whether the job may have ended its process in the previous attempt. Asked only if that attempt had no result. */
export function mayEndProcess(app: App, { body, attempt }: JobLease): boolean {
  try {
    const envelope = readEnvelope(body, {
      ring: app.keyRing(),
      now: app.clock.now(),
      maxBytes: app.maxBodyBytes,
    });
    const number = envelope.attempts + attempt;
    const isLast = number > envelope.maxRetries;
    const hasOwnProcess = app.jobs.get(envelope.job)?.isolation?.kind === 'process';
    return !hasOwnProcess && (number > attemptsTogether || isLast);
  } catch {
    return false; // the attempt will refuse it
  }
}
