/** What `longshore doctor` asks of a backend or a store: checks of its own settings and state, one thing each. */

/** An error loses, doubles or stops jobs; a warning may; a note is worth knowing. */
export type Severity = 'error' | 'warning' | 'note';

export interface Problem {
  /** A queue, a table, a file, a server. */
  readonly where: string;
  /** What is wrong, with the value that was found. One sentence or two. */
  readonly text: string;
  /** What to do about it. */
  readonly remedy: string;
  /** @default that of its check */
  readonly severity?: Severity;
}

/** What could not be looked at, and why: it stands behind "because". */
export interface NotChecked {
  readonly because: string;
}

/** What was found, nothing (`[]`), or why nothing could be. */
export type Looked = Problem | readonly Problem[] | NotChecked;

/** @typeParam Facts what several checks ask for once */
export interface Check<Facts = void> {
  /** What it finds is known by this, whatever the release: `redis.eviction`. docs/doctor.md explains each. */
  readonly id: string;
  readonly severity: Severity;
  /** Changes nothing. What it throws is reported as a finding of its own. */
  look(facts: Facts): Looked | Promise<Looked>;
}

/** What the jobs of one queue ask of it: the most that any of them does. */
export interface QueueNeeds {
  readonly maxRetries: number;
  /** How long one attempt may take. */
  readonly timeoutMs: number;
}

/** What the jobs of an app ask of those who keep them. */
export interface DiagnosisRequest {
  /** The queues that the app's jobs name. */
  readonly queues: readonly string[];
  needsOf(queue: string): QueueNeeds;
  /** The longest time that a job's idempotency key is kept after the job, ms; 0 = no job has a key. */
  readonly keysKeptMs: number;
}
