/** What a task may ask of the process it runs in. */
export interface Host {
  /** The folder of the benchmarks, where their packages are installed. */
  readonly folder: string;
  /** Tells the parent that everything is set up, and waits for its word. */
  waitForGo(): Promise<void>;
}

/** Jobs run on a throw-away queue before the clock starts, by every side, so that compiling is not measured. */
export const warmUpJobs = 2_000;

export const perSecond = (count: number, ms: number): number => (count / ms) * 1000;
