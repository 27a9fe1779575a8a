/** The checks of `longshore doctor`: each looks at one setting or state of a backend or store. */

/** `error`: jobs are lost, doubled or stopped. `warning`: they may be. `note`: worth knowing. */
export type Severity = 'error' | 'warning' | 'note';

export interface Problem {
  /** A queue, a table, a file, a server. */
  readonly where: string;
  /** The fault, with the value that was found. One or two sentences. */
  readonly text: string;
  /** How to fix it. */
  readonly remedy: string;
  /** @default the severity of its check */
  readonly severity?: Severity;
}

/** The check could not be made. `because` completes the sentence "not checked, because …". */
export interface NotChecked {
  readonly because: string;
}

/** Problems, none (`[]`), or the reason why the check could not be made. */
export type Looked = Problem | readonly Problem[] | NotChecked;

/** @typeParam Facts facts that several checks share, so that they are read once */
export interface Check<Facts = void> {
  /** Stable across releases, for example `redis.eviction`. docs/doctor.md explains each id. */
  readonly id: string;
  readonly severity: Severity;
  /** Must change nothing. An error that it throws is reported as a finding. */
  look(facts: Facts): Looked | Promise<Looked>;
}

/** The needs of the jobs of one queue: the largest value of any of them. */
export interface QueueNeeds {
  readonly maxRetries: number;
  /** How long one attempt may take. */
  readonly timeoutMs: number;
}

/** The needs of an app's jobs. */
export interface DiagnosisRequest {
  /** The queues that the app's jobs name. */
  readonly queues: readonly string[];
  needsOf(queue: string): QueueNeeds;
  /** The longest time for which an idempotency key is kept after its job, ms; 0 = no job has a key. */
  readonly keysKeptMs: number;
}
