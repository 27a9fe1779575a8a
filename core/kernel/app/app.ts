/** The app is a value: jobs, schedules, keys, clock. It opens no connection and imports no cloud. */

import { checkNode, checkOptions, checkQueue, type OptionKinds } from '../../base/checks.ts';
import { type Clock, systemClock, uuidv7 } from '../../base/clock.ts';
import { config, shown } from '../../base/errors.ts';
import { createEvents, type EventListener, type Events } from '../../base/events.ts';
import type { JobFailure } from '../../contract/outcome.ts';
import type { KeyRing } from '../../envelope/signing.ts';
import { signingFromEnv } from '../../envelope/signing-keys.ts';
import type { Alerts } from './alerts.ts';
import type { Installed } from './installed.ts';
import type { Job } from './job.ts';
import { type Middleware, type MiddlewareLists, middlewareOf } from './middleware.ts';
import { type QueueOptions, type QueueRules, queueRulesOf } from './queues.ts';
import type { Schedule } from './schedule.ts';

export interface AppOptions {
  readonly jobs: readonly Job[];
  readonly schedules?: readonly Schedule[];
  /** Alert rules and their targets: `defineAlerts()` of `longshore/alerts`. @default none */
  readonly alerts?: Alerts;
  /**
   * @default the keys in LONGSHORE_SIGNING_KEYS. If it is not set, development makes a key under `.longshore/`, and production
   * refuses to start.
   */
  readonly signing?: KeyRing;
  /** Options of queues, by queue name. `{}` declares a queue that no job names. */
  readonly queues?: Readonly<Record<string, QueueOptions>>;
  /** Restricts a queue to these jobs: any other job in it is rejected. A queue not listed here accepts every job. */
  readonly accepts?: Readonly<Record<string, readonly Job[]>>;
  /** A message of an unknown job is released until it is this old, because a deployment may be under way. ms. @default 300_000 */
  readonly unknownJobGraceMs?: number;
  /** The largest envelope that is sent or read, in bytes. A backend may have a lower limit. @default 1_048_576 */
  readonly maxBodyBytes?: number;
  readonly on?: EventListener;
  /** Called after every failed attempt and for every refused message. It cannot delay or fail a job. */
  readonly onError?: FailureHook | undefined;
  /** Called after `onError` when a job will never run again. Not called for a cancelled job. */
  readonly onDeadLetter?: FailureHook | undefined;
  /** Middleware around each attempt of every job, the first one outermost: `async (ctx, next) => { …; return next(); }`. */
  readonly use?: readonly Middleware[];
  readonly clock?: Clock;
  /** Returns a number in [0, 1). @default Math.random */
  readonly random?: () => number;
  /** Returns a unique id: at most 128 of `A-Z a-z 0-9 . _ -`. @default UUID version 7 */
  readonly newId?: () => string;
}

/** A returned promise is awaited for up to 2 s if the process may freeze or end, as in a function. */
export type FailureHook = (error: Error, failure: JobFailure) => unknown;

export interface FailureHooks extends Pick<AppOptions, 'onError' | 'onDeadLetter'> {
  /** Running calls, one promise per failure. */
  readonly open: Set<Promise<void>>;
}

export interface App {
  readonly jobs: ReadonlyMap<string, Job>;
  readonly schedules: readonly Schedule[];
  /** Schedules that ping a monitor, by name. */
  readonly pinged: ReadonlyMap<string, Schedule>;
  readonly alerts: Alerts | null;
  /** All queues that a job, `queues` or `accepts` names, in the order of their first mention. Workers take from all of them. */
  readonly queues: readonly string[];
  /** The rules of queues that have options. */
  readonly queueRules: ReadonlyMap<string, QueueRules>;
  readonly accepts: ReadonlyMap<string, ReadonlySet<string>>;
  readonly unknownJobGraceMs: number;
  readonly maxBodyBytes: number;
  readonly events: Events;
  readonly failureHooks: FailureHooks | null;
  readonly middleware: MiddlewareLists;
  readonly clock: Clock;
  readonly random: () => number;
  /** @param now epoch ms, if the caller already has it */
  readonly newId: (now?: number) => string;
  /** `true` = `newId` is the default, which never returns an id twice. */
  readonly ownIds: boolean;
  /** The parts that features add to attempts, clients and workers. */
  readonly installed: Installed;
  /** Read once, at the first call. Throws `CONFIG` if production has no key. */
  readonly keyRing: () => KeyRing;
}

const kinds = {
  jobs: '',
  schedules: '',
  alerts: '',
  signing: '',
  queues: '',
  accepts: '',
  unknownJobGraceMs: 0,
  maxBodyBytes: 1024,
  on: 'function',
  onError: 'function',
  onDeadLetter: 'function',
  use: '',
  clock: '',
  random: '',
  newId: '',
} satisfies OptionKinds<AppOptions>;

/** Makes an app. `createApp()` of core/features calls it with all features. */
export function appOf(options: AppOptions, installed: Installed): App {
  checkNode();
  checkOptions('createApp()', options, kinds);
  const { clock = systemClock, random = Math.random, schedules = [], alerts = null } = options;
  const { unknownJobGraceMs = 300_000, maxBodyBytes = 1_048_576, onError, onDeadLetter, newId } = options;
  const jobs = new Map<string, Job>();
  for (const job of options.jobs) {
    if (jobs.has(job.name)) throw config(`Two jobs are called "${job.name}". Give every job its own name.`);
    jobs.set(job.name, job);
  }
  const accepts = acceptLists(options.accepts ?? {});
  const queueRules = queueRulesOf(options.queues);
  const names = new Set<string>();
  for (const { name, job } of schedules) {
    if (names.has(name))
      throw config(`Two schedules are called "${name}". Give every schedule its own name.`);
    if (jobs.get(job.name) !== job) {
      throw config(
        `Schedule "${name}" runs job "${job.name}", which is not among the app's jobs. Add it to jobs.`,
      );
    }
    if (accepts.get(job.queue)?.has(job.name) === false)
      throw config(
        `Schedule "${name}" runs job "${job.name}", which its queue "${job.queue}" does not accept. Add the job to accepts.`,
      );
    names.add(name);
  }
  if (alerts && !alerts.evaluate) throw config('Expected alerts to come from defineAlerts().');
  const events = createEvents();
  if (options.on) events.on(options.on);
  let ring = options.signing;
  return {
    jobs,
    schedules,
    pinged: new Map(schedules.filter((one) => one.ping).map((one) => [one.name, one])),
    alerts,
    queues: namedQueues(options.jobs, queueRules, accepts),
    queueRules,
    accepts,
    unknownJobGraceMs,
    maxBodyBytes,
    events,
    failureHooks: onError || onDeadLetter ? { onError, onDeadLetter, open: new Set() } : null,
    middleware: middlewareOf(options.use),
    clock,
    random,
    // Called without arguments: the user's function may have parameters of its own.
    newId: newId ? () => newId() : (now = clock.now()) => uuidv7(now),
    ownIds: newId === undefined,
    installed,
    keyRing: () => {
      ring ??= signingFromEnv(process.env, process.cwd(), (path) =>
        events.emit({ type: 'key.development', path }),
      );
      return ring;
    },
  };
}

function acceptLists(lists: Readonly<Record<string, readonly Job[]>>): Map<string, Set<string>> {
  const accepts = new Map<string, Set<string>>();
  for (const [queue, jobs] of Object.entries(lists)) {
    checkQueue(queue);
    for (const job of jobs)
      if (typeof job?.name !== 'string')
        throw config(
          `accepts of queue "${queue}" expects jobs, got ${shown(job)}. List the job itself, not its name: accepts: { '${queue}': [job] }.`,
        );
    accepts.set(queue, new Set(jobs.map((job) => job.name)));
  }
  return accepts;
}

/** A queue whose `accepts` list is empty is not taken from, unless a job or `queues` names it. */
function namedQueues(
  jobs: readonly Job[],
  rules: App['queueRules'],
  accepts: App['accepts'],
): readonly string[] {
  const accepting = [...accepts].flatMap(([queue, names]) => (names.size > 0 ? [queue] : []));
  return [...new Set([...jobs.map(({ queue }) => queue), ...rules.keys(), ...accepting])];
}
