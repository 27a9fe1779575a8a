/** The first file of a thread or process: imports the jobs' module and runs what the worker sends, one at a time. */

import { getHeapStatistics } from 'node:v8';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { config, LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import { compose } from '../../kernel/app/compose.ts';
import { currentContext, withContext } from '../../kernel/app/context.ts';
import { markIsolate } from '../../kernel/app/isolation.ts';
import type { HandlerContext, Job, RunFacts } from '../../kernel/app/job.ts';
import type { EnqueuedJob } from '../../kernel/app/options.ts';
import { validate } from '../../kernel/app/schema.ts';
import type { OwnContext } from '../../kernel/attempt/around-handler.ts';
import { outputOf } from '../../kernel/attempt/output.ts';
import { rateLimited } from '../../kernel/attempt/rate-limited.ts';
import { createFlowsInside, type FlowsInside } from './flows-inside.ts';
import { createLog } from './logging.ts';
import {
  type FromIsolate,
  type MemoryUse,
  packError,
  type Question,
  type ToIsolate,
  unpackError,
} from './messages.ts';
import { createReporter, type Progress } from './progress.ts';
import { createStepsInside, type StepsInside } from './steps-inside.ts';

markIsolate();

interface Channel {
  readonly module: string;
  send(message: FromIsolate): void;
  listen(onMessage: (message: ToIsolate) => void): void;
}

const channel = isMainThread ? processChannel() : threadChannel();
const loading = load(channel.module);
loading.catch(() => {}); // the first job reports it

function threadChannel(): Channel {
  const { module, nonce } = workerData.longshore;
  delete workerData.longshore; // the nonce is not for handlers
  const port = parentPort!;
  const post = port.postMessage.bind(port);
  port.postMessage = () => {}; // a handler's messages would fill the worker's memory, only to be dropped
  return {
    module,
    send: (message) => post({ ...message, nonce }),
    listen: (onMessage) => port.on('message', onMessage),
  };
}

function processChannel(): Channel {
  const [module = '', parent = '', nonce = ''] = process.argv.splice(2); // the nonce is not for handlers
  const post = process.send!.bind(process);
  const send = (message: FromIsolate) => post({ ...message, nonce });
  // Dropped, as in a thread.
  process.send = (...args: unknown[]) => {
    const sent = args.findLast((arg) => typeof arg === 'function');
    if (sent) process.nextTick(sent as () => void, null);
    return true;
  };
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  new Worker(new URL(`./watchdog.${extension}`, import.meta.url), { argv: [parent], execArgv: [] }).unref();
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // A service manager signals the whole process tree. The isolate ignores it, because the worker drains first and then stops it.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {});
  process.on('uncaughtExceptionMonitor', (error) => {
    send({ type: 'crashing', error: packError(error) });
  });
  return {
    module,
    send,
    listen: (onMessage) => process.on('message', onMessage),
  };
}

async function load(module: string): Promise<Map<string, Job | null>> {
  let exported: Record<string, unknown>;
  try {
    exported = await import(module);
  } catch (cause) {
    // An error of our own (a worker that must not start here) already says what to do.
    if (cause instanceof LongshoreError) throw cause;
    throw config(
      `Could not import ${module} for its isolated jobs: ${toError(cause).message}. It must be a file that Node can import by itself.`,
    );
  }
  const jobs = new Map<string, Job | null>();
  for (const value of Object.values(exported)) {
    if (!isJob(value)) continue;
    const same = jobs.get(value.name);
    jobs.set(value.name, same === undefined || same === value ? value : null);
  }
  return jobs;
}

function isJob(value: unknown): value is Job {
  const job = value as Partial<Job> | null;
  return typeof job === 'object' && typeof job?.name === 'string' && typeof job.run === 'function';
}

async function find(name: string): Promise<Job> {
  const jobs = await loading;
  const job = jobs.get(name);
  if (job) return job;
  const names = [...jobs.keys()].map((other) => `"${other}"`).join(', ');
  throw config(
    job === null
      ? `Expected ${channel.module} to export one job "${name}", got two. Give every job its own name.`
      : `Expected ${channel.module} to export job "${name}", got ${names ? `the jobs ${names}` : 'no job'}. Export what defineJob returns from that file, or let module name the file that does.`,
  );
}

interface Current {
  readonly controller: AbortController;
  readonly log: ReturnType<typeof createLog>;
  readonly steps: StepsInside;
  readonly flows: FlowsInside;
  ended: boolean;
}

let current: Current | null = null;
let asked = 0;
const open = new Map<number, PromiseWithResolvers<unknown>>();

async function ask(question: Question, started?: (number: number) => void): Promise<unknown> {
  const number = ++asked;
  started?.(number);
  try {
    channel.send({ type: 'ask', ask: number, question });
  } catch (error) {
    const why = toError(error).message;
    throw new LongshoreError(
      'OPTION',
      `Expected plain data, got a value that cannot leave the isolate: ${why}`,
    );
  }
  const answer = Promise.withResolvers<unknown>();
  open.set(number, answer);
  return answer.promise;
}

channel.listen((message) => {
  switch (message.type) {
    case 'run':
      return void run(message.facts, message.input);
    case 'abort':
      return current?.controller.abort(unpackError(message.reason));
    case 'read':
      return current?.log.read(message.bytes);
    case 'work':
      return current?.steps.perform(message.ask, message.idempotencyKey);
    case 'pull':
      return current?.flows.give(message.ask, message.most);
    case 'answer':
      open.get(message.ask)?.resolve(message.value);
      return void open.delete(message.ask);
    case 'refusal':
      open.get(message.ask)?.reject(unpackError(message.error));
      return void open.delete(message.ask);
  }
});

async function run(facts: RunFacts, input: unknown): Promise<void> {
  const log = createLog(
    (entry) => channel.send({ type: 'log', ...entry }),
    () => channel.send({ type: 'overflow' }),
  );
  const controller = new AbortController();
  const steps = createStepsInside(facts.job, controller.signal, () => mine.ended, channel.send, ask);
  const hasEnded = () => mine.ended;
  const flows = createFlowsInside(() => ctx.context, hasEnded, channel.send, ask);
  const mine: Current = { controller, log, steps, flows, ended: false };
  current = mine;
  let spoiled = false;
  const { report, flush } = createReporter((args) => ask({ verb: 'progress', args }) as Promise<boolean>);
  const ctx = contextOf(facts, mine, report);
  try {
    await loading.catch((error) => {
      spoiled = true; // Node does not load a module again after a failure, so a new isolate is needed
      throw error;
    });
    const job = await find(facts.job);
    const payload = await validate(job.schema, input, facts.job);
    await ask({ verb: 'begin' });
    const value = await withContext(facts.context, () => around(job, ctx, payload));
    await flush();
    const output = outputOf(value);
    mine.ended = true;
    channel.send({ type: 'returned', output, ...memoryUse() });
  } catch (error) {
    await flush();
    mine.ended = true;
    channel.send({ type: 'failed', error: packError(error), ...memoryUse(), spoiled });
  }
}

/** Runs the job's middleware and its handler. The app's middleware runs in the worker, which knows the app. */
function around(job: Job, ctx: OwnContext, payload: unknown): Promise<unknown> {
  return compose(job.use, ctx as HandlerContext, async () => {
    ctx.context = currentContext() ?? ctx.context;
    return job.run(payload, ctx as HandlerContext);
  });
}

function memoryUse(): MemoryUse {
  const heapBytes = getHeapStatistics().used_heap_size;
  return { heapBytes, peakBytes: isMainThread ? process.resourceUsage().maxRSS * 1024 : heapBytes };
}

function contextOf(
  facts: RunFacts,
  mine: Current,
  report: (...args: Progress) => Promise<boolean>,
): OwnContext {
  const ctx: Omit<OwnContext, 'tx'> = {
    ...facts,
    signal: mine.controller.signal,
    async progress(done, total, message) {
      if (mine.ended) return false;
      return report(done, total, message);
    },
    log(message, fields = {}) {
      if (!mine.ended) mine.log.write(message, fields);
    },
    rateLimited,
    ...mine.steps.ctx,
    ...mine.flows.ctx,
    async enqueue(job, payload, options) {
      if (mine.ended) {
        throw new LongshoreError('LEASE_LOST', 'ctx.enqueue() was called after the attempt had ended.');
      }
      assertJson(payload === undefined ? null : payload, 'payload'); // before a clone makes class instances plain objects
      const { context } = ctx; // a middleware may have changed it
      return (await ask({
        verb: 'enqueue',
        job: job.name,
        payload,
        options: { context, ...options },
      })) as EnqueuedJob;
    },
  };
  // Not enumerable, so that a handler may still spread its context.
  const get = (): never => {
    throw config(
      `Job "${facts.job}" runs in an isolate, so it has no ctx.tx: a transaction cannot leave its process.`,
    );
  };
  return Object.defineProperty(ctx, 'tx', { get }) as OwnContext;
}
