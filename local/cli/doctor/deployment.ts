/**
 * Checks the deployment files beside the config against the needs of the jobs: host.json, and a CloudFormation template with its queues,
 * functions and event source mappings.
 */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { config } from '../../../core/base/errors.ts';
import type { Check, Problem, QueueNeeds } from '../../../core/contract/diagnosis.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { check, checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { needsOfQueues } from '../../settings.ts';
import { type HostSettings, hostSettings } from '../../simulate/functions/host-json.ts';
import { count, span } from '../output/ui.ts';

interface QueueProperties {
  readonly QueueName?: unknown;
  readonly FifoQueue?: unknown;
  readonly VisibilityTimeout?: number | string;
  readonly MessageRetentionPeriod?: number | string;
  readonly RedrivePolicy?: {
    readonly deadLetterTargetArn?: unknown;
    readonly maxReceiveCount?: number | string;
  };
}
interface FunctionProperties {
  readonly Timeout?: number | string;
  readonly ReservedConcurrentExecutions?: number | string;
  readonly RecursiveLoop?: unknown;
}
interface MappingProperties {
  readonly EventSourceArn?: unknown;
  readonly FunctionName?: unknown;
  readonly BatchSize?: number | string;
  readonly MaximumBatchingWindowInSeconds?: number | string;
  readonly FunctionResponseTypes?: readonly unknown[];
  readonly ScalingConfig?: { readonly MaximumConcurrency?: number | string };
}

/** A queue that triggers a function. */
export interface Source {
  /** The place that a finding names. */
  readonly where: string;
  /** Name of the SQS queue, without the suffix of a lane or `.fifo`. */
  readonly name: string;
  readonly queue: QueueProperties;
  readonly mapping: MappingProperties;
  /** Its id in the template. */
  readonly functionId: string;
  readonly run: FunctionProperties;
  readonly deadLetters: QueueProperties | null;
  /** Ids in the template. */
  readonly queueId: string;
  readonly deadLettersId: string | null;
}

interface TemplateFacts {
  readonly app: App;
  needsOf(queue: string): QueueNeeds;
  template(): readonly Source[];
  /** Whether EventBridge calls a function on a schedule. */
  isScheduled(): boolean;
}

/** The defaults of AWS. */
const usual = { timeoutS: 3, hiddenS: 30, batch: 10, keptS: 345_600 };
/** AWS recommends this factor, so that a throttled function can retry. */
const visibilityFactor = 6;
const largestBatch = 10;
const mostReceives = 1_000;
/** Extra deliveries besides the attempts: throttled or killed functions also use up deliveries. */
const spareReceives = 5;

export type Resources = Readonly<Record<string, { readonly Type?: string; readonly Properties?: object }>>;

/** Throws `CONFIG` if the file is not a template in JSON. */
function resourcesIn(path: string): Resources {
  try {
    const { Resources: resources } = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof resources !== 'object' || resources === null) throw new Error('it has no Resources');
    return resources;
  } catch (cause) {
    throw config(
      `Expected ${path} to be a CloudFormation template in JSON, got: ${(cause as Error).message}.`,
    );
  }
}

export const hasSchedule = (resources: Resources): boolean =>
  Object.values(resources).some(
    ({ Type, Properties = {} }) =>
      Type === 'AWS::Scheduler::Schedule' ||
      (Type === 'AWS::Events::Rule' && 'ScheduleExpression' in Properties),
  );

export const readTemplate = (path: string): readonly Source[] => sourcesIn(resourcesIn(path));

export function sourcesIn(resources: Resources): readonly Source[] {
  const named = <T>(reference: unknown, type: string): T | null => {
    const found = resources[idOf(reference) ?? ''];
    return found?.Type === type ? ((found.Properties ?? {}) as T) : null;
  };
  return Object.entries(resources).flatMap(([id, { Type, Properties = {} }]) => {
    if (Type !== 'AWS::Lambda::EventSourceMapping') return [];
    const mapping: MappingProperties = Properties;
    const queue = named<QueueProperties>(mapping.EventSourceArn, 'AWS::SQS::Queue');
    if (!queue) return []; // a stream, or a queue of another stack
    const run = named<FunctionProperties>(mapping.FunctionName, 'AWS::Lambda::Function');
    const functionId = idOf(mapping.FunctionName) ?? id;
    const target = queue.RedrivePolicy?.deadLetterTargetArn;
    const queueId = idOf(mapping.EventSourceArn)!;
    const name = (nameIn(queue.QueueName) ?? queueId)
      .replace(/\.fifo$/, '')
      .replace(/-(critical|high|low)$/, '');
    const deadLetters = named<QueueProperties>(target, 'AWS::SQS::Queue');
    const deadLettersId = deadLetters && idOf(target);
    const ids = { where: queueId, queueId, functionId, deadLettersId };
    return [{ ...ids, name, queue, mapping, run: run ?? {}, deadLetters }];
  });
}

/** `{ 'Fn::GetAtt': ['Id', 'Arn'] }`, `{ Ref: 'Id' }` or `{ 'Fn::Sub': '${Id.Arn}' }`. */
export function idOf(reference: unknown): string | null {
  const { 'Fn::GetAtt': attribute, Ref: ref } = (reference ?? {}) as Readonly<Record<string, unknown>>;
  if (Array.isArray(attribute)) return String(attribute[0]);
  if (typeof attribute === 'string') return attribute.split('.')[0]!;
  if (typeof ref === 'string') return ref;
  return /^\$\{(\w+)(\.Arn)?\}/.exec(subOf(reference) ?? '')?.[1] ?? null;
}

/** A name as text; `null` = it is made of something else. */
export const nameIn = (name: unknown): string | null => (typeof name === 'string' ? name : subOf(name));

function subOf(value: unknown): string | null {
  const { 'Fn::Sub': sub } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return typeof sub === 'string' ? sub : null;
}

export const templateChecks: readonly Check<TemplateFacts>[] = [
  check('aws.batch', 'error', ({ template }) =>
    template().flatMap(({ where, mapping }) => {
      const problems: Problem[] = [];
      if (!mapping.FunctionResponseTypes?.includes('ReportBatchItemFailures'))
        problems.push({
          where,
          text: 'Its event source mapping does not report single failures: when one job fails, the whole batch runs again.',
          remedy: 'Set functionResponseType: ReportBatchItemFailures.',
        });
      const size = Number(mapping.BatchSize ?? usual.batch);
      if (size > largestBatch && Number(mapping.MaximumBatchingWindowInSeconds ?? 0) < 1)
        problems.push({
          where,
          text: `Its batchSize is ${size} without a batching window: AWS refuses the deployment.`,
          remedy: 'Set maximumBatchingWindow to 1 or more, or batchSize to 10.',
        });
      return problems;
    }),
  ),
  check('aws.schedule', 'warning', ({ template, isScheduled }) => {
    const [first] = template();
    if (!first || isScheduled()) return [];
    return {
      where: first.functionId,
      text: 'No schedule calls a function: nothing enqueues the jobs of schedules, evaluates alerts or ends abandoned batches.',
      remedy: 'Have EventBridge call the schedule function of lambda() once a minute.',
    };
  }),
  check('aws.timeout', 'error', (facts) =>
    facts.template().flatMap((source) => {
      const limitMs = timeoutOf(source) * 1_000;
      const { timeoutMs } = needsOf(source, facts);
      if (timeoutMs < limitMs) return [];
      return {
        where: source.where,
        text: `Its function ${source.functionId} may run for ${span(limitMs)}, and its jobs for ${span(timeoutMs)}: they are aborted unfinished.`,
        remedy: "Raise the function's timeout above timeoutMs of the jobs, or lower that.",
      };
    }),
  ),
  check('aws.visibility', 'warning', ({ template }) =>
    template().flatMap((source) => {
      const hiddenS = Number(source.queue.VisibilityTimeout ?? usual.hiddenS);
      const timeoutS = timeoutOf(source);
      const windowS = Number(source.mapping.MaximumBatchingWindowInSeconds ?? 0);
      const least = visibilityFactor * timeoutS + windowS;
      if (hiddenS >= least) return [];
      const runsTwice = hiddenS < timeoutS + windowS;
      return {
        where: source.where,
        text: `VisibilityTimeout is ${hiddenS} s, and its function may run for ${timeoutS} s: ${runsTwice ? 'jobs run twice at the same time' : 'a throttled function has no time to retry'}.`,
        remedy: `Set VisibilityTimeout to ${least}: 6 times the function's timeout, and the batching window.`,
        severity: runsTwice ? 'error' : 'warning',
      };
    }),
  ),
  check('aws.receives', 'error', (facts) =>
    facts.template().flatMap((source) => {
      const { RedrivePolicy: redrive, FifoQueue: fifo } = source.queue;
      const most = Number(redrive?.maxReceiveCount ?? mostReceives);
      const wanted = Math.min(needsOf(source, facts).maxRetries + spareReceives, mostReceives);
      const least = isYes(fifo) ? mostReceives : wanted;
      if (most >= least) return [];
      return {
        where: source.where,
        text: `maxReceiveCount is ${most}: SQS moves jobs to the dead letters before their last retry, without a reason.`,
        remedy: `Set it to ${least} or more.`,
      };
    }),
  ),
  check('aws.recursion', 'warning', ({ template }) => {
    const functions = Map.groupBy(template(), ({ functionId }) => functionId);
    return [...functions].flatMap(([where, [source]]): Problem | [] =>
      source!.run.RecursiveLoop === 'Allow'
        ? []
        : {
            where,
            text: 'Lambda stops a function after about 16 messages that lead from one to the next: jobs that enqueue jobs, long chains and batches are dead-lettered without a run.',
            remedy: 'Set RecursiveLoop: Allow, and an alarm on RecursiveInvocationsDropped.',
          },
    );
  }),
  check('aws.redrive', 'warning', ({ template }) =>
    template().flatMap(({ where, queue, deadLetters }) => {
      if (!queue.RedrivePolicy)
        return {
          where,
          text: 'It has no RedrivePolicy: a message that kills its function is delivered until it is too old, and then lost.',
          remedy: 'Give it a RedrivePolicy with a dead-letter queue and maxReceiveCount.',
        };
      if (!deadLetters || isYes(queue.FifoQueue)) return [];
      const keptS = Number(queue.MessageRetentionPeriod ?? usual.keptS);
      const deadKeptS = Number(deadLetters.MessageRetentionPeriod ?? usual.keptS);
      if (deadKeptS > keptS) return [];
      return {
        where,
        text: `Its dead letters are kept for ${deadKeptS} s, no longer than its messages (${keptS} s). That counts from when a job was sent, so dead letters may vanish at once.`,
        remedy: 'Set MessageRetentionPeriod of the dead-letter queue to 1209600.',
      };
    }),
  ),
  check('aws.concurrency', 'warning', ({ template }) => {
    const functions = Map.groupBy(template(), ({ functionId }) => functionId);
    return [...functions].flatMap(([where, sources]): Problem | [] => {
      const reserved = sources[0]!.run.ReservedConcurrentExecutions;
      const limits = sources.map(({ mapping }) =>
        Number(mapping.ScalingConfig?.MaximumConcurrency ?? Infinity),
      );
      if (limits.includes(Infinity)) {
        const open = sources.filter((_, i) => limits[i] === Infinity).map((one) => one.where);
        const text = `${open.join(', ')} may call it without a limit on concurrency: throttled calls use up receives, and jobs are dead-lettered without a run.`;
        return { where, text, remedy: 'Set maximumConcurrency of every event source.' };
      }
      const sum = limits.reduce((all, one) => all + one, 0);
      if (reserved === undefined || sum <= Number(reserved)) return [];
      return {
        where,
        text: `${count(sources.length, 'queue')} call it up to ${sum} times at once, but it may run only ${reserved} times: throttled calls use up receives.`,
        remedy: `Set reservedConcurrency to ${sum}, or lower maximumConcurrency.`,
      };
    });
  }),
];

const timeoutOf = ({ run }: Source): number => Number(run.Timeout ?? usual.timeoutS);
const isYes = (value: unknown): boolean => value === true || value === 'true';

/** The needs of the app's queue whose name is the end of the SQS queue's name. */
function needsOf({ name }: Source, { app, needsOf }: TemplateFacts): QueueNeeds {
  const own = app.queues.filter((queue) => name === queue || name.endsWith(`-${queue}`));
  const [longest = ''] = own.toSorted((a, b) => b.length - a.length);
  return needsOf(longest);
}

interface HostFacts {
  readonly app: App;
  readonly settings: () => HostSettings & { readonly path: string };
}

/**
 * Makes checks for the files that exist. A serverless.yml without its packaged template is reported as not checked.
 * @param template path of a template that replaces the packaged one
 */
export function deploymentChecks(app: App, folder: string, template: string | undefined): Check[] {
  const checks = hostJsonChecks(app, folder);
  const packaged = template ?? above(folder, packagedTemplate);
  if (packaged !== null) {
    const facts = {
      app,
      needsOf: needsOfQueues(app),
      template: () => readTemplate(packaged),
      isScheduled: () => hasSchedule(resourcesIn(packaged)),
    };
    checks.push(...checksOf(templateChecks, facts));
  } else if (above(folder, 'serverless.yml') !== null) {
    const because = `serverless.yml is checked through its packaged template, and there is no ${packagedTemplate}. Run serverless package, or name a JSON template with --template`;
    checks.push({ id: 'aws.template', severity: 'note', look: () => ({ because }) });
  }
  return checks;
}

/** None where there is no host.json. */
export function hostJsonChecks(app: App, folder: string): Check[] {
  if (above(folder, 'host.json') === null) return [];
  const settings = () => hostSettings(folder) as HostSettings & { path: string };
  return checksOf(hostChecks, { app, settings });
}

/** The template that osls has made, beside the config or above it. */
export const packagedTemplateAbove = (configPath: string): string | null =>
  above(dirname(configPath), packagedTemplate);

const packagedTemplate = join('.serverless', 'cloudformation-template-update-stack.json');

/** Looks for a file in this folder and its parents, up to the folder of the package. */
function above(folder: string, name: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    const path = join(at, name);
    if (existsSync(path)) return path;
    if (existsSync(join(at, 'package.json')) || at === dirname(at)) return null;
  }
}

/** A check that the `timeoutMs` of every job is below a limit. */
const limit = (
  id: string,
  [name, msOf]: readonly [string, (settings: HostSettings) => number],
  consequence: string,
  remedy: string,
): Check<HostFacts> => ({
  id,
  severity: 'error',
  look({ app, settings }) {
    const found = settings();
    const limitMs = msOf(found);
    const longer = [...app.jobs.values()].filter(({ timeoutMs }) => timeoutMs >= limitMs);
    return longer.map((job) => {
      const text = `${name} is ${span(limitMs)}, and job "${job.name}" may run for ${span(job.timeoutMs)}: ${consequence}.`;
      return { where: found.path, text, remedy };
    });
  },
});

export const hostChecks: readonly Check<HostFacts>[] = [
  limit(
    'host.timeout',
    ['functionTimeout', ({ functionTimeoutMs }) => functionTimeoutMs],
    'the host kills the process, with all other jobs in it',
    'Raise functionTimeout above the longest timeoutMs, or lower that of the job.',
  ),
  limit(
    'host.lock',
    ['maxAutoLockRenewalDuration', ({ maxLockRenewalMs }) => maxLockRenewalMs],
    'it loses its lock, and runs twice',
    'Set maxAutoLockRenewalDuration to functionTimeout.',
  ),
  check('host.complete', 'error', ({ settings }) => {
    const { path, completes } = settings();
    if (completes) return [];
    return {
      where: path,
      text: 'autoCompleteMessages is false: a completed job stays locked, and runs again when its lock ends.',
      remedy: 'Set autoCompleteMessages to true.',
    };
  }),
  check('host.prefetch', 'warning', ({ settings }) => {
    const { path, prefetchCount } = settings();
    if (prefetchCount === 0) return [];
    return {
      where: path,
      text: `prefetchCount is ${prefetchCount}: prefetched messages lose their lock while they wait, and use up a delivery each time.`,
      remedy: 'Set prefetchCount to 0.',
    };
  }),
];
