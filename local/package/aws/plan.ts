/** The needs of an app on AWS, computed from its queues, jobs and limits. Every template is a rendering of this plan. */

import { config } from '../../../core/base/errors.ts';
import { needsOfQueues } from '../../settings.ts';
import { idOf, kebab } from '../names.ts';
import type { AwsDeployment, FunctionDeployment, Setting, Settings } from '../options.ts';
import type { AppPart } from '../part.ts';

export interface AwsPlan {
  /** Begins every name, with the stage after it. */
  readonly service: string;
  readonly queues: readonly QueuePlan[];
  readonly deadLetters: readonly DeadLettersPlan[];
  readonly functions: readonly FunctionPlan[];
  /** Whether the functions keep their state in DynamoDB. */
  readonly hasTable: boolean;
  /** By the variable that has its name. */
  readonly buckets: readonly { readonly variable: string; readonly id: string; readonly name: string }[];
  /** Packages beside the bundle. */
  readonly installed: readonly string[];
}

export interface QueuePlan {
  /** Name without the prefix: that of the app's queue, with the lane. */
  readonly name: string;
  /** Begins the logical ids: `MailHigh`. */
  readonly id: string;
  readonly deadLetters: string;
  /** The worker function that takes it. */
  readonly worker: string;
  readonly fifo: boolean;
  readonly visibilityS: number;
  readonly maxReceives: number;
  /** How many functions its limit of concurrency allows; `null` = the parameter of the deployment. */
  readonly concurrency: number | null;
  /** The age of the oldest message at which the alarm fires. */
  readonly lateAfterS: number;
}

export interface DeadLettersPlan {
  readonly name: string;
  readonly id: string;
  readonly fifo: boolean;
  /** Names of the queues that may put messages there. */
  readonly from: readonly string[];
}

export interface FunctionPlan {
  readonly name: string;
  readonly id: string;
  readonly kind: 'worker' | 'schedule' | 'enqueue';
  readonly timeoutS: number;
  /** Concurrent executions that are reserved for it. */
  readonly reserved: number;
  readonly settings: readonly (readonly [variable: string, kind: Setting])[];
  /** Ids of queues that it takes from. */
  readonly takes: readonly string[];
  /** Ids of other queues that it sends to. */
  readonly sends: readonly string[];
  readonly usesInstalled: boolean;
}

/** Variables that every template sets. */
export const given = ['QUEUE_URL', 'TABLE', 'LONGSHORE_SIGNING_KEYS'] as const;
/** Set for the function `enqueue` only. */
export const apiKey = 'API_KEY';

export const retentionS = 604_800;
export const deadLettersRetentionS = 1_209_600;
export const batchSize = 10;
export const batchWindowS = 1;
/** Functions side by side for one queue. */
export const queueConcurrency = 20;
const longestTimeoutS = 900;
/** A throttled function has time for retries. */
const visibilityFactor = 6;
const mostReceives = 1_000;
/** Deliveries besides the attempts: throttled and killed functions use some up. */
const usualReceives = 20;
const spareReceives = 5;
const usuallyLateS = 900;
const lateFactor = 6;
/** `health` and `doctor` ask SQS for 80 characters at most. */
const longestName = 80;
const longestStage = 16;

export interface Asked extends Pick<AwsDeployment, 'lanes' | 'functions'> {
  readonly service: string;
  readonly environment: Settings;
  readonly installed: readonly string[];
  /** The handlers that the bundle exports. */
  readonly exports: readonly string[];
  readonly hasTable: boolean;
  /** Whether the enqueue function reads API_KEY. */
  readonly readsApiKey: boolean;
}

/** Throws `CONFIG` for an app that AWS cannot run so. */
export function planAws(app: AppPart, asked: Asked): AwsPlan {
  const { service, exports, lanes = {}, functions: given = {}, environment, installed } = asked;
  if (!exports.includes('worker'))
    throw config(
      `Expected the functions to export worker, got ${exports.join(', ') || 'nothing'}. Write \`export const { worker, schedule, enqueue } = lambda(app, { … })\`.`,
    );
  if (app.schedules.length > 0 && !exports.includes('schedule'))
    throw config(
      `The app has ${app.schedules.length} schedules, and the functions export no \`schedule\`: nothing would enqueue their jobs. Export it beside worker.`,
    );
  const workers = workersOf(app, given);
  const timeouts = new Map([...workers].map(([name, { queues }]) => [name, timeoutOf(app, queues)]));
  const queues = [...workers].flatMap(([worker, { queues: own }]) =>
    own.flatMap((queue) => queuePlans(app, queue, lanes[queue] ?? [], worker, timeouts.get(worker)!)),
  );
  const deadLetters = app.queues.map((queue) => deadLettersOf(queue, queues));
  checkNames(service, [...queues, ...deadLetters]);
  const inOrder = queues.toSorted((a, b) => orderOf(app, a) - orderOf(app, b));
  const idsOf = (names: readonly string[]) =>
    inOrder
      .filter(({ deadLetters }) => names.some((name) => deadLettersName(name) === deadLetters))
      .map(({ id }) => id);
  const functions: FunctionPlan[] = [...workers].map(([name, { queues: own, options }]) => {
    const takes = idsOf(own);
    const sends = idsOf(options.sendsTo ?? app.queues).filter((id) => !takes.includes(id));
    const taken = inOrder.filter(({ id }) => takes.includes(id));
    return {
      ...{ name, id: idOf(name), kind: 'worker', timeoutS: timeouts.get(name)!, takes, sends },
      reserved: taken.reduce((sum, { concurrency }) => sum + (concurrency ?? queueConcurrency), 0),
      settings: Object.entries(options.environment ?? environment),
      usesInstalled: installed.length > 0 && options.usesInstalled !== false,
    };
  });
  const others = { takes: [], sends: idsOf(app.queues), usesInstalled: false } as const;
  if (exports.includes('schedule')) {
    const own = given.schedule?.environment ?? environment;
    functions.push({ ...others, ...scheduleFunction, settings: Object.entries(own) });
  }
  if (exports.includes('enqueue')) {
    const keys: Settings = asked.readsApiKey ? { [apiKey]: 'secret' } : {};
    const own = given.enqueue?.environment ?? { ...environment, ...keys };
    functions.push({ ...others, ...enqueueFunction, settings: Object.entries(own) });
  }
  return {
    service,
    queues: inOrder,
    deadLetters,
    functions,
    hasTable: asked.hasTable,
    buckets: variablesOf(functions, isBucket).map((variable) => ({
      variable,
      id: idOf(variable.toLowerCase()),
      name: kebab(variable),
    })),
    installed,
  };
}

const scheduleFunction = {
  name: 'schedule',
  id: 'Schedule',
  kind: 'schedule',
  timeoutS: 50,
  reserved: 2,
} as const;
const enqueueFunction = {
  name: 'enqueue',
  id: 'Enqueue',
  kind: 'enqueue',
  timeoutS: 10,
  reserved: 20,
} as const;

export const isBucket = (kind: Setting): boolean => kind !== 'secret' && kind !== 'parameter';

/** The settings of all functions that are of a kind, each once. */
export function variablesOf(functions: AwsPlan['functions'], isIt: (kind: Setting) => boolean): string[] {
  const all = functions.flatMap(({ settings }) => settings);
  return [...new Set(all.flatMap(([variable, kind]) => (isIt(kind) ? [variable] : [])))];
}

/** The bucket whose name a variable has. */
export const bucketOf = ({ buckets }: AwsPlan, variable: string): AwsPlan['buckets'][number] =>
  buckets.find((one) => one.variable === variable)!;

interface WorkerQueues {
  readonly queues: readonly string[];
  readonly options: FunctionDeployment;
}

/** Which worker function takes which queues. */
function workersOf(
  app: AppPart,
  given: Readonly<Record<string, FunctionDeployment>>,
): Map<string, WorkerQueues> {
  const workers = new Map<string, WorkerQueues>();
  const taken = new Map<string, string>();
  for (const [name, options] of Object.entries(given)) {
    if (name === 'schedule' || name === 'enqueue' || name === 'worker') continue;
    if (!/^[a-z][A-Za-z0-9]{0,20}$/.test(name))
      throw config(`Expected the name of a function to be up to 21 letters and digits, got "${name}".`);
    const { queues = [] } = options;
    if (queues.length === 0)
      throw config(`Function "${name}" of the deployment has no queues. Name them: { queues: ['mail'] }.`);
    for (const queue of queues) {
      if (!app.queues.includes(queue))
        throw config(
          `Function "${name}" of the deployment takes queue "${queue}", which the app does not have. Its queues are ${app.queues.join(', ')}.`,
        );
      if (taken.has(queue))
        throw config(
          `Queue "${queue}" has two functions in the deployment, "${taken.get(queue)}" and "${name}". Give it one.`,
        );
      taken.set(queue, name);
    }
    workers.set(name, { queues, options });
  }
  const rest = app.queues.filter((queue) => !taken.has(queue));
  if (rest.length === 0) return workers;
  return new Map([['worker', { queues: rest, options: given.worker ?? {} }], ...workers]);
}

/** Half as long again as the longest job, and at most a minute more: a job that begins late also has its time. */
function timeoutOf(app: AppPart, queues: readonly string[]): number {
  const jobs = [...app.jobs.values()].filter(({ queue }) => queues.includes(queue));
  const longest = jobs.toSorted((a, b) => b.timeoutMs - a.timeoutMs)[0];
  const longestS = Math.ceil((longest?.timeoutMs ?? 0) / 1000);
  if (longestS + 2 > longestTimeoutS)
    throw config(
      `Job "${longest!.name}" may run for ${longestS} s, and a Lambda function ends after ${longestTimeoutS} s. Lower its timeoutMs to ${(longestTimeoutS - 2) * 1000}, cut it in steps, or run its queue in a container.`,
    );
  const more = Math.max(2, Math.min(60, Math.ceil(longestS / 2)));
  return Math.min(longestTimeoutS, longestS + more);
}

function queuePlans(
  app: AppPart,
  queue: string,
  lanes: readonly string[],
  worker: string,
  timeoutS: number,
): QueuePlan[] {
  const fifo = queue.endsWith('.fifo');
  const base = queue.replace(/\.fifo$/, '');
  if (!/^[A-Za-z0-9_-]+$/.test(base))
    throw config(
      `SQS has no queue of the name "${queue}": only letters, digits, - and _. Rename it in the app.`,
    );
  const order = app.queueRules.get(queue)?.order ?? null;
  if (order !== null && !fifo)
    throw config(
      `Queue "${queue}" keeps its groups in order, which takes a FIFO queue on SQS. Name it "${queue}.fifo".`,
    );
  const { maxRetries, timeoutMs } = needsOfQueues(app)(queue);
  return [queue, ...lanes.map((lane) => `${base}-${lane}${fifo ? '.fifo' : ''}`)].map((name) => ({
    name,
    id: idOf(name),
    deadLetters: deadLettersName(queue),
    worker,
    fifo,
    visibilityS: visibilityFactor * timeoutS + (fifo ? 0 : batchWindowS),
    maxReceives: fifo
      ? mostReceives
      : Math.min(mostReceives, Math.max(usualReceives, maxRetries + spareReceives)),
    concurrency: concurrencyOf(app, queue),
    lateAfterS: Math.max(usuallyLateS, (lateFactor * timeoutMs) / 1000),
  }));
}

/** A function runs at least one job. More functions than jobs may run at once would only take turns at the limit. */
function concurrencyOf(app: AppPart, queue: string): number | null {
  const limits = app.queueRules.get(queue)?.limits ?? [];
  const slots = limits.flatMap(({ kind, keyOf, slots }) =>
    kind === 'concurrency' && keyOf === null ? [slots] : [],
  );
  const least = Math.min(...slots, queueConcurrency);
  return least < queueConcurrency ? Math.max(2, least) : null;
}

const deadLettersName = (queue: string): string => queue.replace(/(\.fifo)?$/, '-dlq$1');

function deadLettersOf(queue: string, queues: readonly QueuePlan[]): DeadLettersPlan {
  const name = deadLettersName(queue);
  const from = queues.filter(({ deadLetters }) => deadLetters === name).map((one) => one.name);
  return {
    name,
    id: `${idOf(queue.replace(/\.fifo$/, ''))}DeadLetters`,
    fifo: queue.endsWith('.fifo'),
    from,
  };
}

const orderOf = (app: AppPart, { deadLetters }: QueuePlan): number =>
  app.queues.findIndex((queue) => deadLettersName(queue) === deadLetters);

/** Throws `CONFIG` for two queues of one name, and for a name that is too long. */
function checkNames(
  service: string,
  queues: readonly { readonly name: string; readonly id: string }[],
): void {
  for (const [i, { name, id }] of queues.entries()) {
    const twin = queues.slice(0, i).find((one) => one.name === name || one.id === id);
    if (twin)
      throw config(
        `Two queues would be called "${twin.name}" and "${name}" on SQS, and a template cannot tell them apart. Rename one.`,
      );
    const most = longestName - service.length - longestStage - 2;
    if (name.length > most)
      throw config(
        `Expected the name of queue "${name}" to have at most ${most} characters with "${service}" before it. Shorten one of the two.`,
      );
  }
}
