/** In a thread or process: imports the jobs' module and runs what the worker sends, one at a time. */

import { getHeapStatistics } from 'node:v8';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { config, LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import { packError, unpackError } from '../../base/thrown.ts';
import { compose } from '../../kernel/app/compose.ts';
import { currentContext, withContext } from '../../kernel/app/context.ts';
import { markIsolate } from '../../kernel/app/isolation.ts';
import type { HandlerContext, Job, RunFacts, TransactionContext } from '../../kernel/app/job.ts';
import { validate } from '../../kernel/app/schema.ts';
import type { OwnContext } from '../../kernel/attempt/around-handler.ts';
import type { ContextDoors } from '../../kernel/attempt/context.ts';
import { outputOf } from '../../kernel/attempt/output.ts';
import { rateLimited } from '../../kernel/attempt/rate-limited.ts';
import { createCallsInside } from './calls-inside.ts';
import { createLog } from './logging.ts';
import type { FromIsolate, MemoryUse, ToIsolate } from './messages.ts';
import { createReporter, type Progress } from './progress.ts';

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
  ended: boolean;
}

let current: Current | null = null;
const calls = createCallsInside(channel.send);

export function serve(doors: ContextDoors): void {
  channel.listen((message) => {
    switch (message.type) {
      case 'run':
        return void run(message.facts, message.input, doors);
      case 'abort':
        return current?.controller.abort(unpackError(message.reason));
      case 'read':
        return current?.log.read(message.bytes);
      case 'work':
        return void calls.work(message.ask, message.given);
      case 'answer':
        return calls.answer(message.ask, message.value);
      case 'refusal':
        return calls.refuse(message.ask, message.error);
    }
  });
}

async function run(facts: RunFacts, input: unknown, doors: ContextDoors): Promise<void> {
  const log = createLog(
    (entry) => channel.send({ type: 'log', ...entry }),
    () => channel.send({ type: 'overflow' }),
  );
  const controller = new AbortController();
  const mine: Current = { controller, log, ended: false };
  current = mine;
  let spoiled = false;
  const { report, flush } = createReporter(
    (args) => calls.ask(mine, 'progress', { args }) as Promise<boolean>,
  );
  const ctx = contextOf(facts, mine, report, doors);
  try {
    await loading.catch((error) => {
      spoiled = true; // Node does not load a module again after a failure, so a new isolate is needed
      throw error;
    });
    const job = await find(facts.job);
    const payload = await validate(job.schema, input, facts.job);
    await calls.ask(mine, 'begin', { args: [] });
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
  return compose(job.use, ctx as TransactionContext, async () => {
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
  doors: ContextDoors,
): OwnContext {
  const ctx = {
    ...facts,
    signal: mine.controller.signal,
    async progress(done: number, total?: number, message?: string) {
      if (mine.ended) return false;
      return report(done, total, message);
    },
    log(message: string, fields: Readonly<Record<string, unknown>> = {}) {
      if (!mine.ended) mine.log.write(message, fields);
    },
    rateLimited,
    async enqueue(job: Job, payload: unknown, options?: object) {
      assertJson(payload === undefined ? null : payload, 'payload'); // before a clone makes class instances plain objects
      const { context } = ctx; // a middleware may have changed it
      return calls.ask(mine, 'enqueue', { args: [job.name, payload, { context, ...options }] });
    },
  } as OwnContext;
  calls.addMembers(mine, ctx as HandlerContext, doors);
  return ctx;
}
