/**
 * The harness of a backend for its law suites. The suites use `node:assert` and a runner that is passed in (vitest's, node:test's), so
 * you can run them against a backend of your own.
 */

import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Retention } from '../../../core/contract/store.ts';

export type Declare = (name: string, body: () => Promise<void>) => unknown;

export interface Runner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: Declare & { readonly skip?: Declare };
}

export interface OpenOptions {
  readonly retention?: Partial<Retention>;
}

/** One empty backend, used by one law. */
export interface Bench {
  readonly backend: QueueBackend;
  /** The same storage opened once more, as another process would have it; races are then run over both. */
  readonly peer?: QueueBackend;
  /** The backend's own time, epoch ms. */
  now(): number;
  /** Lets so much time pass: moves a virtual clock, or waits. */
  advance(ms: number): Promise<void> | void;
  /** Follows every law; the law itself may have closed the backend already. */
  close(): Promise<void>;
}

/** Topics that a queue may honestly be without; its harness says so, and `docs/backends.md` repeats it. */
export type Lack =
  /** A broker wakes those that wait, and its other steps are not ours. */
  | 'waking'
  | 'order'
  | 'duplicates'
  /** Groups neither take turns nor keep an order, or a law cannot see it. */
  | 'groups'
  /** Groups run one at a time, whether they are ordered or not. */
  | 'unordered groups'
  /** Which of several groups comes next is for the broker to say, and no order is promised. */
  | 'turns of groups'
  /** The others of an ordered group wait for none that failed, and a retry joins the end of its group. */
  | 'rank of a retry'
  | 'dead letters'
  | 'administration'
  /** A backlog cannot be taken out of it, nor put into it, with all that belongs to a job. */
  | 'transfer'
  /** Waiting jobs are not found by id: they cannot be changed, promoted or removed. */
  | 'waiting jobs'
  /** A lease cannot say that the attempt before it was interrupted, so it never does. */
  | 'interruptions'
  /** That a lease was settled is known to the process that did it, and to no other. */
  | 'settled elsewhere'
  /** A lease belongs to the connection that took it: no other process can use it. */
  | 'use elsewhere'
  /** Only the next waiting message is visible, ready and delayed. */
  | 'sight'
  /** A message that is sent to run later is refused. */
  | 'delays'
  /** A dead letter that is retried takes the place it had when it died. */
  | 'place of the retried'
  /** Its registry does not tell a worker that it is to drain. */
  | 'draining'
  /** The end of a job wakes no caller of `result()`, so it polls. */
  | 'ends'
  /** The end of a job is heard in the process that has ended it, and in no other. */
  | 'ends elsewhere'
  /** Its stores keep no audit log. */
  | 'audit log'
  /** Its stores have no limits. */
  | 'limits'
  /** Its stores keep no steps of jobs. */
  | 'steps'
  /** It removes texts of steps by itself when they are old: a purge does not. */
  | 'purges of steps'
  /** Its stores keep no batches. */
  | 'batches'
  /** Its stores keep no schedules that are made at run time. */
  | 'schedules'
  /** Its stores keep no numbers. */
  | 'numbers'
  /** It removes numbers, and entries of the audit log, by itself when they are old: a purge of them answers 0. */
  | 'purges of numbers';

export interface Harness {
  open(options?: OpenOptions): Promise<Bench>;
  readonly lacks?: readonly Lack[];
  /** How long a broker may take to hand out a message that is ready. @default 0, for those that live in our time */
  readonly patienceMs?: number;
  /** `false`: the broker has a clock of its own, and laws that take more than seconds are skipped. @default true */
  readonly timeIsOurs?: boolean;
  /** The smallest time that the queue tells apart, for random sequences. @default 1 */
  readonly grainMs?: number;
  /** The queue keeps no records: they are written through the write side of a store. */
  readonly storeStandsAlone?: boolean;
}
