/**
 * A job that ends its process (out of memory, `process.exit`, a native crash) takes the jobs beside it along. They come back together, each
 * with an attempt less, so one such job could kill healthy ones. After the second such end, or before the last attempt, a job runs alone.
 */

import type { JobLease } from '../../contract/queue.ts';
import { readEnvelope } from '../../envelope/envelope.ts';
import type { App } from '../app/app.ts';
import type { Run } from '../attempt/run.ts';

/** After the first end of a process its jobs run side by side once more: most processes end for other reasons. */
const attemptsTogether = 2;

export interface AloneOptions {
  readonly app: App;
  /** How long it waits for the jobs that run, and how long no other job begins beside it. */
  readonly patienceMs: number;
  /** Called when a job may begin that could not before. */
  changed(): void;
}

/** The job that runs alone in a worker, if there is one. */
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
    /** Nothing is fetched, and nothing else begins. */
    get active(): boolean {
      return suspect !== null;
    },
    is: (run: Run): boolean => run === suspect,
    /** Before it begins it is the only one that the worker holds in its buffer: the others would die with it unbegun. */
    wait(run: Run): void {
      suspect = run;
      isPatient = true;
      later(() => {
        isPatient = false;
      });
    },
    /** Whether the next job of the buffer may begin. @param isBusy others run, or are being settled */
    mayBegin: (next: Run | undefined, isBusy: boolean): boolean =>
      suspect === null || (next === suspect && !(isBusy && isPatient)),
    begins(run: Run): void {
      if (run !== suspect) return;
      later(() => {
        suspect = null;
      });
    },
    /** Its handler has ended, or its lease is lost. */
    over(run: Run): void {
      if (run !== suspect) return;
      suspect = null;
      stopTimer();
    },
    stop: () => stopTimer(),
  };
}

/** Whether it may be the job that ended its process when it ran last. Not asked for jobs whose last attempt has ended. */
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
    return false; // it is refused when its turn comes
  }
}
