/** The conditions. infra/monitoring uses the same names in Prometheus. */

import { checkInteger, checkOptions, isName, namePattern, type OptionKinds } from '../../base/checks.ts';
import { config, shown } from '../../base/errors.ts';
import type { AlertSeverity } from '../../base/events.ts';
import type { QueueStats } from '../../contract/admin.ts';
import type { AlertFacts, AlertReading, AlertRule, AttemptNumbers } from '../../kernel/app/alerts.ts';
import type { LateStoredSchedules } from '../../kernel/app/stored-schedule.ts';

export interface RuleOptions {
  /** Name of the alert; two of one kind need two names. */
  readonly name?: string;
  readonly severity?: AlertSeverity;
  /** The alert fires once the condition has held for this long, ms. */
  readonly forMs?: number;
}

export interface LimitOptions extends RuleOptions {
  /** The condition holds above this value. */
  readonly above?: number;
  /** Only this queue. @default each queue separately */
  readonly queue?: string;
}

const minuteMs = 60_000;
const number = new Intl.NumberFormat('en');
const shownNumber = (value: number): string => number.format(Math.round(value * 10) / 10);
const minutes = (ms: number): string => `${shownNumber(ms / minuteMs)} min`;

interface Kind {
  readonly name: string;
  readonly severity: AlertSeverity;
  readonly forMs: number;
  readonly above: number;
  /** `more than ${limit} jobs wait` */
  readonly summary: (limit: string) => string;
  /** Formats a value or limit. @default the number */
  readonly unit?: (value: number) => string;
}

interface Measured {
  readonly queue: string;
  /** `null` = the backend cannot provide it. */
  readonly value: number | null;
  readonly text: string;
}

const limitKinds = {
  name: '',
  severity: '',
  forMs: '',
  above: '',
  queue: '',
} satisfies OptionKinds<LimitOptions>;

/** A rule that compares one number per queue. */
const measuring =
  (kind: Kind, measure: (facts: AlertFacts) => Promise<readonly Measured[]>) =>
  (options: LimitOptions = {}): AlertRule => {
    checkOptions(`alert ${kind.name}`, options, limitKinds);
    const { above = kind.above, queue } = options;
    checkAbove(kind.name, above);
    if (queue !== undefined && !isName(queue))
      throw config(`${kind.name} expects queue to match ${namePattern}, got ${shown(queue)}.`);
    const { unit = shownNumber } = kind;
    return rule(kind, options, kind.summary(unit(above)), async (facts) => {
      const all = await measure(facts);
      const asked = all.filter((one) => queue === undefined || one.queue === queue);
      if (queue !== undefined && asked.length === 0 && !(await mayBe(queue, facts)))
        return [unknown(queue, `there is no queue "${queue}" here`)];
      return asked.map(({ queue: subject, value, text }) => {
        if (value === null) return { subject, value, holds: null, text };
        const holds = value > above;
        const compared = holds ? `more than ${unit(above)}` : `at most ${unit(above)}`;
        return { subject, value, holds, text: `"${subject}": ${unit(value)} ${text}, ${compared}` };
      });
    });
  };

function checkAbove(name: string, above: number): void {
  if (!Number.isFinite(above) || above < 0)
    throw config(`${name} expects above to be a number of 0 or more, got ${shown(above)}.`);
}

/** A mistyped name must not look like a healthy queue. */
async function mayBe(queue: string, { queues, stats }: AlertFacts): Promise<boolean> {
  if (queues.includes(queue)) return true;
  const used = await stats().catch(() => null);
  return used === null || used.some((one) => one.queue === queue);
}

function rule(
  kind: Pick<Kind, 'name' | 'severity' | 'forMs'>,
  options: RuleOptions,
  summary: string,
  read: AlertRule['read'],
): AlertRule {
  const { name = kind.name, severity = kind.severity, forMs = kind.forMs } = options;
  if (!isName(name)) throw config(`An alert's name must match ${namePattern}, got ${shown(name)}.`);
  if (severity !== 'warning' && severity !== 'critical')
    throw config(`Alert "${name}" expects severity to be 'warning' or 'critical', got ${shown(severity)}.`);
  checkInteger(`forMs of alert "${name}"`, forMs, 0);
  return { name, severity, forMs, summary, read };
}

const ofStats =
  (text: string, value: (stats: QueueStats) => number) =>
  async (facts: AlertFacts): Promise<Measured[]> =>
    (await facts.stats()).map((stats) => ({ queue: stats.queue, value: value(stats), text }));

const ofAttempts =
  (spanMs: number, text: string, value: (numbers: AttemptNumbers) => number) =>
  async (facts: AlertFacts): Promise<Measured[]> =>
    (await facts.attempts(spanMs)).map((numbers) => ({ queue: numbers.queue, value: value(numbers), text }));

const backlog = measuring(
  {
    name: 'QueueBacklogHigh',
    severity: 'warning',
    forMs: 5 * minuteMs,
    above: 1_000,
    summary: (limit) => `more than ${limit} jobs wait in a queue`,
  },
  ofStats('jobs wait', ({ ready }) => ready),
);

const depth = measuring(
  {
    name: 'QueueDepthHigh',
    severity: 'warning',
    forMs: 5 * minuteMs,
    above: 10_000,
    summary: (limit) => `more than ${limit} jobs are in a queue, waiting, delayed or running`,
  },
  ofStats('jobs are in the queue', ({ ready, delayed, leased }) => ready + delayed + leased),
);

const deadLetters = measuring(
  {
    name: 'QueueDeadLettersHigh',
    severity: 'warning',
    forMs: 5 * minuteMs,
    above: 100,
    summary: (limit) => `more than ${limit} dead letters are kept`,
  },
  ofStats('dead letters', ({ dead }) => dead),
);

/** Counts all queues together: many small numbers make a large one. */
const allDeadLetters = (options: Omit<LimitOptions, 'queue'> = {}): AlertRule => {
  const { above = 1_000 } = options;
  checkAbove('DeadLettersHigh', above);
  const limit = shownNumber(above);
  return rule(
    { name: 'DeadLettersHigh', severity: 'critical', forMs: 5 * minuteMs },
    options,
    `more than ${limit} dead letters are kept in all queues together`,
    async (facts) => {
      const value = (await facts.stats()).reduce((sum, { dead }) => sum + dead, 0);
      const holds = value > above;
      const text = `${shownNumber(value)} dead letters in all queues, ${holds ? 'more than' : 'at most'} ${limit}`;
      return [{ subject: '', value, holds, text }];
    },
  );
};

const stuck = measuring(
  {
    name: 'QueueJobStuck',
    severity: 'critical',
    forMs: 5 * minuteMs,
    above: 60 * minuteMs,
    summary: (limit) => `the oldest job has been ready for more than ${limit}`,
    unit: minutes,
  },
  async (facts) =>
    (await facts.stats()).map(({ queue, ready, oldestReadyMs }) => {
      const isUnknown = ready > 0 && oldestReadyMs === null;
      if (isUnknown) return { queue, value: null, text: `${facts.backend} does not tell how long jobs wait` };
      return { queue, value: oldestReadyMs ?? 0, text: 'is the age of the oldest ready job' };
    }),
);

const failureSpanMs = 5 * minuteMs;
const failures = measuring(
  {
    name: 'QueueHighFailureRate',
    severity: 'critical',
    forMs: 5 * minuteMs,
    above: 10,
    summary: (limit) => `more than ${limit} attempts fail in a minute`,
  },
  ofAttempts(failureSpanMs, 'attempts fail in a minute', ({ failed }) => failed / (failureSpanMs / minuteMs)),
);

const ratioSpanMs = 15 * minuteMs;
/** With fewer attempts a share means little: one failure of three would be a third. */
const leastAttempts = 20;
const failureRatio = measuring(
  {
    name: 'QueueFailureRatioHigh',
    severity: 'warning',
    forMs: 5 * minuteMs,
    above: 0.05,
    summary: (limit) =>
      `more than ${limit} of the attempts in 15 minutes fail (of at least ${leastAttempts})`,
    unit: (share) => `${shownNumber(share * 100)} %`,
  },
  async (facts) =>
    (await facts.attempts(ratioSpanMs)).map(({ queue, attempts, failed }) => ({
      queue,
      value: attempts < leastAttempts ? 0 : failed / attempts,
      text: `of ${shownNumber(attempts)} attempts failed`,
    })),
);

const deadLetterRate = measuring(
  {
    name: 'QueueDeadLetterRateHigh',
    severity: 'warning',
    forMs: 0,
    above: 10,
    summary: (limit) => `more than ${limit} jobs died within an hour`,
  },
  ofAttempts(60 * minuteMs, 'jobs died within an hour', ({ dead }) => dead),
);

const withoutWorker = (options: RuleOptions & { readonly queue?: string } = {}): AlertRule =>
  rule(
    { name: 'QueueWithoutWorker', severity: 'critical', forMs: 2 * minuteMs },
    options,
    'no worker takes jobs of a queue',
    async (facts) => {
      const beats = await facts.workers();
      if (beats === null) return []; // functions are started by the cloud
      const served = new Set(beats.flatMap(({ queues }) => queues));
      const queues = options.queue === undefined ? facts.queues : [options.queue];
      return queues.map((subject) => {
        const holds = !served.has(subject);
        return {
          subject,
          holds,
          value: null,
          text: `"${subject}": ${holds ? 'no' : 'a'} worker takes its jobs`,
        };
      });
    },
  );

const backendDown = (options: RuleOptions = {}): AlertRule => ({
  ...rule(
    { name: 'BackendDown', severity: 'critical', forMs: 2 * minuteMs },
    options,
    'the backend does not answer',
    async (facts) => {
      const failure = await facts.stats().then(
        () => null,
        (error: unknown) => error,
      );
      if (isUnsupported(failure)) return [unknown('', failure)];
      const holds = failure !== null;
      // Only the code: a driver's message may contain users and hosts.
      const text = holds
        ? `${facts.backend} does not answer: ${codeOf(failure)}`
        : `${facts.backend} answers`;
      return [{ subject: '', holds, value: null, text }];
    },
  ),
  needsNoStore: true,
});

/** How late a tick may be without counting as missed. */
const tickGraceMs = 90_000;
const scheduleMissed = (options: RuleOptions = {}): AlertRule =>
  rule(
    { name: 'ScheduleMissed', severity: 'critical', forMs: 5 * minuteMs },
    options,
    'a schedule is due and nothing ticks it',
    async (facts) => {
      const [inCode, stored] = await Promise.all([facts.schedules(), facts.lateSchedules(tickGraceMs)]);
      const readings = inCode.map(({ schedule: subject, lateMs }) => {
        const holds = lateMs === null || lateMs > tickGraceMs;
        const since = lateMs === null ? 'was never ticked' : `has been due for ${minutes(lateMs)}`;
        const text = holds ? `${since}, and nothing ticks it` : 'is ticked';
        return { subject, holds, value: lateMs, text: `schedule "${subject}" ${text}` };
      });
      return [...readings, ...lateReading(stored)];
    },
  );

const mostNamed = 3;

/** One reading for all stored schedules: a million late ones must not become a million alerts. */
function lateReading({ late, more }: LateStoredSchedules): AlertReading[] {
  const [worst] = late;
  if (!worst) return [];
  const named = late
    .slice(0, mostNamed)
    .map(({ schedule, why }) => (why ? `${schedule} (${why})` : schedule));
  const rest = late.length > named.length ? ' and others' : '';
  const count = `${shownNumber(late.length)}${more ? ' or more' : ''}`;
  const text = `schedules made at run time that are due for up to ${minutes(worst.lateMs)}: ${count}, ${named.join(', ')}${rest}`;
  return [{ subject: 'made at run time', holds: true, value: worst.lateMs, text }];
}

const breakerOpen = (options: RuleOptions & { readonly job?: string } = {}): AlertRule =>
  rule(
    { name: 'BreakerOpen', severity: 'critical', forMs: 5 * minuteMs },
    options,
    'the breaker of a job is open',
    async (facts) => {
      const { job } = options;
      if (job !== undefined && !facts.breakers.includes(job))
        return [unknown(job, `there is no job "${job}" with a breaker here`)];
      const jobs = job === undefined ? facts.breakers : [job];
      if (jobs.length === 0) return []; // no query is needed
      const stopped = await facts.stopped();
      return jobs.map((subject) => {
        const open = stopped.find((one) => one.job === subject && one.state !== 'paused');
        if (!open) return { subject, holds: false, value: null, text: `"${subject}": its breaker is closed` };
        const { failures, waiting } = open;
        const why = `${shownNumber(failures)} attempts in a row have failed, ${shownNumber(waiting)} jobs wait`;
        return { subject, holds: true, value: failures, text: `"${subject}": its breaker is open, ${why}` };
      });
    },
  );

export interface CustomRule extends RuleOptions {
  readonly name: string;
  /** A sentence for people, in `longshore alerts` and in notices. @default the name */
  readonly summary?: string;
  /** Called once a minute, on one host. If it throws or takes longer than 10 s, an event reports it and the state stays. */
  readonly when: (facts: AlertFacts) => boolean | Promise<boolean>;
}

function custom({ when, summary, ...options }: CustomRule): AlertRule {
  if (typeof when !== 'function')
    throw config(`Alert "${options.name}" expects when to be a function, got ${shown(when)}.`);
  const text = summary ?? options.name;
  return rule({ name: options.name, severity: 'warning', forMs: 0 }, options, text, async (facts) => [
    { subject: '', holds: (await when(facts)) === true, value: null, text },
  ]);
}

/** All conditions with their defaults. */
export const standardRules = (): AlertRule[] => [
  backlog(),
  stuck(),
  failures(),
  deadLetterRate(),
  depth(),
  failureRatio(),
  deadLetters(),
  allDeadLetters(),
  withoutWorker(),
  backendDown(),
  scheduleMissed(),
  breakerOpen(),
];

/** Conditions whose limits are options: `alert.backlog({ above: 500 })`. */
export const alert = {
  backlog,
  stuck,
  failures,
  deadLetterRate,
  depth,
  failureRatio,
  deadLetters,
  allDeadLetters,
  withoutWorker,
  backendDown,
  scheduleMissed,
  breakerOpen,
  custom,
  standard: standardRules,
} as const;

export const unknown = (subject: string, error: unknown): AlertReading => ({
  subject,
  holds: null,
  value: null,
  text: error instanceof Error ? error.message : String(error),
});

/** Whether retrying is useless. */
const isUnsupported = (error: unknown): boolean => codeOf(error) === 'CONFIG';

function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'no reason is known';
}
