import { reportError } from '../../../core/base/failure.ts';
import { hint } from '../../../core/base/nearest.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { endingOf } from '../../../core/features/metrics/tally.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { isBackend } from '../../../core/kernel/enqueue/backends.ts';
import { namesOf, type Queues, type WorkerSummary } from '../../../core/kernel/worker/options.ts';
import { type LogLevel, levelOf, logLevels, logTo } from '../../log.ts';
import { flag } from '../config/flags.ts';
import { duration, given, integer, oneOf, processes, queueWithSlots, size } from '../config/values.ts';
import { defineCommand, type Input, type Result, type Values } from '../definition.ts';
import { type ExitCode, unsupported, usage } from '../errors.ts';
import { eventLine } from '../output/lines.ts';
import { startProgress } from '../output/progress.ts';
import { stackLines } from '../output/stack.ts';
import { count, number, span } from '../output/ui.ts';
import { onEnter } from './serve-dashboard.ts';
import { showRunning } from './show-running.ts';

const logForms = ['pretty', 'json', 'none'] as const;
type LogForm = (typeof logForms)[number];

const logFlag = flag(
  '--log <form>',
  'pretty, json or none; by default pretty on a terminal, json elsewhere, none with --json',
  oneOf(logForms),
);

const logLevelFlag = flag(
  '--log-level <level>',
  'debug (also started and waiting jobs), info, warn or error',
  oneOf(logLevels),
  'info',
);

export const workFlags = {
  once: {
    flags: '--once',
    text: 'take one job, or none when none is ready, and stop',
    conflicts: ['drain', 'maxJobs', 'processes'],
  },
  drain: flag('--drain', 'stop when nothing is ready and nothing runs; delayed jobs stay'),
  concurrency: flag(
    '--concurrency <n>',
    'jobs that run at the same time, per process (10, or the sum of the slots)',
    integer(1, 10_000),
  ),
  processes: flag(
    '--processes <n>',
    'run this many workers, each in a process of its own; auto: one per core',
    processes,
  ),
  maxJobs: flag('--max-jobs <n>', 'stop after this many jobs', integer(1)),
  maxRuntime: flag('--max-runtime <duration>', 'stop after this time', duration(1)),
  maxMemory: flag('--max-memory <size>', 'stop when the process is larger', size),
  lease: flag(
    '--lease <duration>',
    'when the jobs of a dead worker are run by another one (30s)',
    duration(100),
  ),
  anyQueue: flag('--any-queue', 'also accept queues that the app does not declare'),
  schedules: flag('--no-schedules', 'enqueue nothing by schedule'),
  metricsPort: flag(
    '--metrics-port <port>',
    'serve numbers for Prometheus at /metrics on this port',
    integer(0, 65_535),
  ),
  metricsHost: flag(
    '--metrics-host <address>',
    'the address for that; any other than a loopback address needs LONGSHORE_METRICS_KEY (127.0.0.1)',
    String,
  ),
  log: logFlag,
  logLevel: logLevelFlag,
} as const;

const queueArgs = [
  {
    name: '[queues...]',
    text: 'by default every queue that the app names; mail=4 gives a queue 4 slots of its own',
    parse: queueWithSlots,
  },
] as const;

/** The names, or the slots of each. */
function queuesOf(texts: readonly string[]): Queues {
  const pairs = texts.map((text) => text.split('=') as [string, string?]);
  const without = pairs.find(([, slots]) => slots === undefined);
  if (without && pairs.some(([, slots]) => slots !== undefined))
    throw usage(
      `Expected slots for every queue or for none, got none for "${without[0]}". Write ${without[0]}=4, for example.`,
    );
  const names = pairs.map(([queue]) => queue);
  if (without || pairs.length === 0) return [...new Set(names)];
  const twice = names.find((queue, i) => names.indexOf(queue) < i);
  if (twice !== undefined) throw usage(`Expected the slots of queue "${twice}" once. Leave one of them out.`);
  return Object.fromEntries(pairs.map(([queue, slots]) => [queue, Number(slots)]));
}

/** A worker on a mistyped queue would wait for ever. */
function checkKnown({ queues }: App, named: readonly string[]): void {
  const unknown = named.find((queue) => !queues.includes(queue));
  if (unknown === undefined) return;
  throw usage(
    `The app does not declare queue "${unknown}".${hint(unknown, queues)} Add --any-queue to run jobs that another release has left there.`,
  );
}

export const work = defineCommand({
  path: 'work',
  summary: 'run a worker until it is stopped',
  about:
    'Takes jobs from the queues and enqueues the jobs of schedules. The first Ctrl-C or SIGTERM drains: running jobs may finish, and the others are released. A second one ends the worker at once. On a terminal the last line shows jobs that run for longer than a second, with their progress; not with --log json. With --processes the limits (--concurrency, --max-jobs, --max-memory, --max-runtime) hold for each process. A process that ends is replaced; with --drain only if it died. --metrics-port serves the sums of all.',
  args: queueArgs,
  flags: workFlags,
  examples: [
    'longshore work',
    'longshore work mail pdf --concurrency 20 --max-memory 512mb',
    'longshore work import=4 mail=4',
    'longshore work --drain --no-schedules --json',
    'longshore work --metrics-port 9464',
    'longshore work --processes auto --max-memory 512mb',
  ],
  exits: {
    0: 'stopped as asked; jobs that failed are in the queue or the dead letters',
    1: 'the worker failed, or with --once or --drain some job went to the dead letters',
    3: 'with --once: no job was ready',
  },
  run: (input) =>
    input.flags.processes === undefined || input.io.member
      ? runWorker(input, input.flags, input.args)
      : runProcesses(input, input.flags, input.flags.processes),
});

type WorkFlags = Partial<Values<typeof workFlags>>;

export async function runWorker(
  input: Pick<Input, 'io' | 'ui' | 'json' | 'session' | 'note'>,
  flags: WorkFlags,
  named: readonly string[],
): Promise<Result> {
  const { io, session } = input;
  const { app } = await session.config();
  const taken = named.length > 0 ? queuesOf(named) : app.queues;
  const queues = namesOf(taken);
  if (!flags.anyQueue) checkKnown(app, queues);
  const metrics = metricsOf(flags, io.env);
  const { member } = io;
  const backends = await session.backends();
  const several = isBackend(backends) ? null : await session.routing();
  const store = several ? undefined : await session.store();
  const batch = flags.once === true || flags.drain === true;
  const worked = several && !several.backendName ? Object.values(backends) : [await session.backend()];
  if (member) refuseAlone(worked);
  const ready =
    flags.drain && !member ? (await Promise.all(worked.map((one) => one?.admin?.stats() ?? []))).flat() : [];
  const total = ready.filter(({ queue }) => queues.includes(queue)).reduce((sum, one) => sum + one.ready, 0);
  const bar = await startProgress(
    { io, json: input.json || member !== null || flags.log !== undefined },
    'draining',
    total,
  );
  let settled = 0;
  let deadLetters = 0;
  let failure: unknown = null;
  let stop = () => {};
  const unlisten = app.events.on((event) => {
    if (event.type === 'worker.started') member?.ready();
    if (event.type === 'job.settled') {
      settled++;
      bar.add(1);
      if (endingOf(event) === 'dead') deadLetters++;
    }
    // A permanent worker survives an outage of the backend. A worker with a limited task fails instead of hanging.
    if (event.type === 'backend.failed' && batch && failure === null) {
      failure = event.error;
      stop();
    }
  });
  const form = flags.log ?? (input.json || bar.visible ? 'none' : io.isTTY.stdout ? 'pretty' : 'json');
  const unlog = await startLog(app, input, form, flags.logLevel);
  const showsRunning = form === 'pretty' && io.isTTY.stdout && !input.json && !member;
  const unshow = showsRunning ? showRunning(app, await session.client(), input) : () => {};
  const schedules = flags.schedules !== false;
  let summary: WorkerSummary;
  try {
    if (member && metrics) await member.count(await session.client());
    if (batch && schedules) await tick(app, await session.client());
    const { concurrency, maxJobs, maxRuntime, maxMemory, lease } = flags;
    const { startLocal } = await import('../../start.ts');
    const local = await startLocal(app, {
      ...(isBackend(backends)
        ? { backend: backends, queues: taken, ...(store && { store }) }
        : { backend: backends, ...several, ...(named.length > 0 && { queues: taken }) }),
      ...(flags.once ? { once: true } : {}),
      ...(flags.drain ? { untilIdle: true } : {}),
      ...given({ concurrency, maxJobs, maxRuntimeMs: maxRuntime, maxMemoryBytes: maxMemory, leaseMs: lease }),
      schedules: schedules && !batch, // a batch ticks first, so that the jobs of schedules are part of it
      ...(metrics && !member && { metrics }),
      signals: io.signals,
      logger: false,
    });
    if (local.metrics) input.note(`Metrics are at ${local.metrics.url}`);
    stop = () => void local.worker.stop();
    if (failure !== null || io.hungUp.aborted) stop();
    io.hungUp.addEventListener('abort', stop);
    summary = await local.done;
    io.hungUp.removeEventListener('abort', stop);
  } finally {
    bar.stop();
    unlisten();
    unlog();
    unshow();
  }
  if (failure !== null) throw failure;
  if (member) {
    await member.ended({ ...summary, settled, deadLetters });
    return { data: null, text: '' }; // the parent prints the sum of all
  }
  const { reason, counts, released, durationMs } = summary;
  const exit: ExitCode =
    flags.once && settled === 0 && reason === 'once' ? 3 : batch && deadLetters > 0 ? 1 : 0;
  return {
    data: { reason, counts, deadLetters, released, durationMs },
    text: batch && form !== 'json' ? summaryText(summary, settled, deadLetters) : '', // stdout is a log then
    exit,
  };
}

/** Runs this command in child processes. */
async function runProcesses(
  { argv, io, json, session, note }: Pick<Input, 'argv' | 'io' | 'json' | 'session' | 'note'>,
  flags: WorkFlags,
  processes: number,
): Promise<Result> {
  session.configPath(); // throws if there is no config
  const metrics = metricsOf(flags, io.env);
  if (!io.fleet) throw unsupported('This program cannot start processes. Leave out --processes.');
  const { drain = false } = flags;
  const summary = await io.fleet(argv, { processes, untilIdle: drain, signals: io.signals, metrics, note });
  const { settled, deadLetters, failedWith, ...data } = summary;
  const form = flags.log ?? (json ? 'none' : io.isTTY.stdout ? 'pretty' : 'json');
  if (failedWith !== null) return { data: null, text: '', exit: failedWith as ExitCode }; // that process has said why
  return {
    data: { ...data, deadLetters },
    text: drain && form !== 'json' ? summaryText(summary, settled, deadLetters) : '',
    exit: drain && deadLetters > 0 ? 1 : 0,
  };
}

/** A queue in the memory of a process would be another one in each. */
function refuseAlone(backends: readonly (QueueBackend | null | undefined)[]): void {
  const alone = backends.find((one) => one?.inProcess);
  if (!alone) return;
  throw usage(
    `Backend "${alone.name}" keeps its jobs in the memory of one process, and --processes starts several. Leave --processes out, or keep the jobs in a file: sqlite('jobs.db').`,
  );
}

/** The key comes from the environment, because every user of the machine can read the command line. */
function metricsOf(
  { metricsPort: port, metricsHost: host }: Pick<WorkFlags, 'metricsPort' | 'metricsHost'>,
  { LONGSHORE_METRICS_KEY: key }: NodeJS.ProcessEnv,
) {
  if (host !== undefined && port === undefined)
    throw usage(
      'Expected --metrics-port beside --metrics-host, got none. Prometheus reads it: 9464, for example.',
    );
  if (port === undefined) return null;
  return { port, ...(host && { host }), ...(key && { apiKeys: [{ id: 'metrics', key }] }) };
}

function summaryText({ durationMs, released }: WorkerSummary, settled: number, dead: number): string {
  if (settled === 0) return 'No job was ready.';
  const parts = [`${count(settled, 'run')} in ${span(durationMs)}`];
  if (dead > 0) parts.push(`${count(dead, 'dead letter')} (longshore dead list)`);
  if (released > 0) parts.push(`${number(released)} released`);
  return `${parts.join(', ')}.`;
}

/** Writes log lines to stdout, or to stderr with `--json`, because stdout is for the summary. Returns a function that ends it. */
async function startLog(
  app: App,
  { io, ui, json }: Pick<Input, 'io' | 'ui' | 'json'>,
  form: LogForm,
  level: LogLevel = 'info',
): Promise<() => void> {
  const out = json ? io.stderr : io.stdout;
  switch (form) {
    case 'none':
      return () => {};
    case 'pretty':
      return app.events.on((event) => {
        if (logLevels.indexOf(levelOf(event)) < logLevels.indexOf(level)) return;
        const text = eventLine(event, ui, io.clock.now());
        if (text === null) return;
        const line = io.member ? `${ui.paint('dim', `[${io.member.number}]`)} ${text}` : text;
        const stack = event.type === 'job.settled' && event.counted ? reportError(event.cause).stack : '';
        const frames = stackLines(stack ?? '', ui, io.cwd);
        out.write(frames === '' ? `${line}\n` : `${line}\n${frames}\n`);
      });
    case 'json': {
      const { pino } = await import('pino');
      const logger = pino({ name: 'longshore', level }, { write: (text) => void out.write(text) });
      return app.events.on(logTo(io.member ? logger.child({ process: io.member.number }) : logger));
    }
  }
}

export const dev = defineCommand({
  path: 'dev',
  summary: 'run a worker for development: readable logs, a dashboard, restarts on change',
  about:
    'The worker runs the schedules too. When you save a file that the config imports, it drains and starts again with the new code. That includes files of other packages of a monorepo, replaced files, and new files beside them. The dashboard runs too, with buttons that kill or freeze the worker or deliver a job twice; its link is printed at the start. With --no-watch or --json only the worker runs, in this process, for a debugger or a script.',
  args: queueArgs,
  flags: {
    concurrency: {
      ...workFlags.concurrency,
      text: 'jobs that run at the same time (4, or the sum of the slots)',
    },
    lease: {
      ...workFlags.lease,
      text: 'when the jobs of a dead worker are run again; use a longer time for breakpoints',
      fallback: 5_000,
      fallbackText: '5s',
    },
    anyQueue: workFlags.anyQueue,
    schedules: workFlags.schedules,
    dashboard: flag('--no-dashboard', 'the worker only'),
    port: flag(
      '--port <port>',
      'of the dashboard, 0 for any free one (4020, or the next one that is free)',
      integer(0, 65_535),
    ),
    watch: flag('--no-watch', 'one process, without restarts and dashboard'),
    log: { ...workFlags.log, text: 'pretty, json or none; by default pretty, none with --json' },
  },
  examples: ['longshore dev', 'longshore dev mail --concurrency 1 --no-schedules --no-dashboard'],
  exits: { 0: 'stopped by Ctrl-C or SIGTERM, drained' },
  async run(input) {
    const { io, flags, json, args } = input;
    input.session.configPath(); // throws if there is no config; a broken config waits for the next save
    if (flags.watch !== false && !json && io.supervised && !io.supervisor) {
      const code = await io.supervised(input.argv, {
        note: (text) => input.note(text),
        keyboard: flags.dashboard === false ? null : { onEnter: (act) => onEnter(io, act) },
      });
      return { data: {}, text: '', exit: code === 0 ? 0 : 1 };
    }
    const {
      concurrency = Array.isArray(queuesOf(args)) ? 4 : undefined,
      anyQueue,
      schedules,
      lease,
      log = json ? 'none' : 'pretty',
    } = flags;
    const work = { concurrency, anyQueue, schedules, lease, log };
    if (!io.supervisor) return runWorker(input, work, args);
    const { runPart } = await import('../../dev/part.ts');
    return runPart(input, {
      channel: io.supervisor,
      port: flags.port,
      work: (session) => runWorker({ ...input, session }, work, args),
    });
  },
});
