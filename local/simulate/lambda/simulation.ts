/** Runs Lambda and SQS on this machine, until it is stopped or idle. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SQSClient } from '@aws-sdk/client-sqs';
import { LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import { isOnThisMachine } from '../../../core/base/loopback.ts';
import { pause } from '../../waiting.ts';
import { type Activity, type Frame, type SimulationEvent, simulated } from '../frame.ts';
import type { LocalDynamo } from './dynamo.ts';
import type { SimulationOptions } from './options.ts';
import { type InvokeContext, pollQueue } from './poller.ts';
import { countQueues, isEmpty, makeQueues } from './queues.ts';
import { type Runtime, type RuntimeOptions, startRuntime } from './runtime.ts';
import { startLocalSqs } from './server.ts';

/** Time for running batches after a stop. Lambda itself would not end them. */
const drainMs = 5_000;

/** Rejects with the first error: no SQS, functions that do not start, or a `play` that fails. */
export const simulate = (options: SimulationOptions, cwd: string, signal: AbortSignal) =>
  simulated({ ...options, name: 'lambda' }, { reportedFailed: 0 }, signal, (frame) =>
    start(options, cwd, frame),
  );

async function start(
  options: SimulationOptions,
  cwd: string,
  { folder, stopping, on, later, broken }: Frame,
): Promise<Activity> {
  const server = options.endpoint === null ? await startLocalSqs() : null;
  if (server) later(() => server.stop());
  const endpoint = server?.url ?? options.endpoint!;
  const client = new SQSClient({ endpoint, region, credentials, useQueueUrlAsEndpoint: false });
  later(() => client.destroy());
  const queues = await makeQueues(client, options.queues, options).catch((cause) => {
    const said = toError(cause).message || toError(cause).name;
    throw new LongshoreError('BACKEND', `Expected an SQS at ${endpoint}, got: ${said}`, { cause });
  });
  const queueUrl = new URL(`/000000000000/${options.prefix}`, endpoint).href;
  const built = await options.build(folder);
  const dynamo = built?.usesDynamo ? await dynamoFor(options) : null;
  if (dynamo) later(() => dynamo.stop());
  const state = dynamo && { table: dynamo.table, dynamoEndpoint: dynamo.url };
  const around = (await options.start?.({ folder, sqsEndpoint: endpoint, queueUrl, ...state })) ?? {};
  later(() => around.stop?.());
  const tableEnv = dynamo && { TABLE: dynamo.table, AWS_ENDPOINT_URL_DYNAMODB: dynamo.url };
  const env = {
    ...environmentOf(options.env, { folder, sqsEndpoint: endpoint, queueUrl, cwd }),
    ...tableEnv,
    ...around.env,
  };
  const ofClients = Object.entries({ SQS_ENDPOINT: endpoint, QUEUE_URL: queueUrl, ...tableEnv });

  const functionOf = (handler: string, most: number): Environments => {
    const onLine = (line: string) => on({ type: 'printed', line });
    const made = createEnvironments({ folder, handler: `main.${handler}`, env, onLine }, most);
    later(() => made.stop());
    return made;
  };
  const worker = functionOf('worker', options.concurrency);
  const schedule = functionOf('schedule', 1);
  // Lambda loads functions with their first event. Loading them now shows errors at once.
  await startFunction('worker', worker);
  const ticks = options.schedules !== false && (await startSchedule(schedule, options));

  on({
    type: 'ready',
    lines: [
      ['sqs', `at ${endpoint}`],
      ['queues', `at ${queueUrl}<name>`],
      ...(dynamo ? [['dynamodb', `at ${dynamo.url}, table ${dynamo.table}`] as const] : []),
      ['enqueue', `from another terminal, with ${ofClients.map((one) => one.join('=')).join(' ')}`],
      ['lambda', 'waits for messages; Ctrl-C ends it'],
    ],
  });

  const invoke = (event: unknown, { traceHeader }: InvokeContext): Promise<unknown> =>
    worker.invoke(event, options.timeoutMs, traceHeader);
  const sources = queues.flatMap((queue) =>
    Array.from({ length: options.concurrency }, () =>
      pollQueue({ client, queue, options, invoke, on, broken, stopping }),
    ),
  );
  const ticking = ticks ? tickEveryMinute(schedule, options, on, stopping) : Promise.resolve();
  const resting = (): boolean => worker.running() === 0 && schedule.running() === 0;
  const idle = async (): Promise<boolean> => {
    const counts = resting() ? Object.values(await countQueues(client, queues)) : null;
    return counts !== null && resting() && counts.every(isEmpty);
  };
  return {
    play: (signal) => around.play?.(signal),
    drainMs,
    idle,
    running: () => worker.running(),
    parts: [...sources, ticking],
    queues: () => countQueues(client, queues),
  };
}

/** `null` without dynalite, if the config starts services of its own. */
async function dynamoFor({ env, start }: SimulationOptions): Promise<LocalDynamo | null> {
  const { AWS_ENDPOINT_URL_DYNAMODB: given = '', TABLE: table = 'longshore-jobs' } = env;
  const endpoint = isOnThisMachine(given) ? given : null;
  try {
    const { openDynamo } = await import('./dynamo.ts');
    return await openDynamo(table, endpoint, { region, credentials });
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    if (start) return null;
    throw new LongshoreError(
      'CONFIG',
      'The functions keep their state in DynamoDB. Run npm install --save-dev dynalite, or set AWS_ENDPOINT_URL_DYNAMODB to one on this machine.',
      { cause },
    );
  }
}

async function startFunction(name: string, environments: Environments): Promise<void> {
  try {
    await environments.start();
  } catch (cause) {
    const hint = name === 'schedule' ? ' Without schedules: --no-schedules.' : '';
    const said = toError(cause).message.replace(/\.?$/, '.');
    throw new LongshoreError('CONFIG', `Function "${name}" does not start: ${said}${hint}`, { cause });
  }
}

/** Starts the `schedule` function, which also checks alerts and batches. `false` = there is none, and none is needed. */
async function startSchedule(
  schedule: Environments,
  { schedules }: Pick<SimulationOptions, 'schedules'>,
): Promise<boolean> {
  try {
    await startFunction('schedule', schedule);
    return true;
  } catch (error) {
    if (schedules === 'if exported' && /HandlerNotFound/.test(toError(error).message)) return false;
    throw error;
  }
}

/** Ticks now, and then on the minute like EventBridge. */
async function tickEveryMinute(
  schedule: Environments,
  { timeoutMs }: SimulationOptions,
  on: (event: SimulationEvent) => void,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    try {
      const answer = (await schedule.invoke({}, timeoutMs)) as { enqueued?: readonly string[] } | null;
      on({ type: 'ticked', enqueued: answer?.enqueued?.length ?? 0, error: null });
    } catch (error) {
      if (stopping.aborted) return;
      on({ type: 'ticked', enqueued: 0, error: toError(error) });
    }
    await pause(60_000 - (Date.now() % 60_000), stopping);
  }
}

type Environments = ReturnType<typeof createEnvironments>;

/** Environments of one function. Each runs one invocation at a time in a process that it keeps for the next one. */
function createEnvironments(options: RuntimeOptions, most: number) {
  const free: Runtime[] = [];
  const all: Runtime[] = [];
  const waiting: (() => void)[] = [];
  let busy = 0;

  /** Runs `work` in a free environment, and waits for one first. */
  async function inOne<T>(work: (runtime: Runtime) => Promise<T>): Promise<T> {
    while (busy >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    busy++;
    let runtime = free.pop();
    try {
      if (!runtime) {
        runtime = await startRuntime(options);
        all.push(runtime);
      }
      return await work(runtime);
    } finally {
      busy--;
      if (runtime) free.push(runtime);
      waiting.shift()?.();
    }
  }

  return {
    /** Number of running invocations. */
    running: () => busy,
    /** Rejects with an InitError if the function does not load. */
    start: () => inOne((runtime) => runtime.ready()),
    invoke: (event: unknown, timeoutMs: number, traceHeader?: string) =>
      inOne((runtime) => runtime.invoke(event, timeoutMs, traceHeader)),
    async stop() {
      await Promise.all(all.map((runtime) => runtime.stop()));
    },
  };
}

const region = 'us-east-1';
export const credentials = { accessKeyId: 'test', secretAccessKey: 'test' } as const;

interface FunctionSettings {
  readonly folder: string;
  readonly sqsEndpoint: string;
  readonly queueUrl: string;
  /** Packages that are not in the bundle are resolved from here. */
  readonly cwd: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The environment of a function. Calls to AWS cannot reach a real account: services without a local endpoint get the endpoint of SQS. */
function environmentOf(outer: Env, { folder, sqsEndpoint, queueUrl, cwd }: FunctionSettings): Env {
  const kept = Object.entries(outer).filter(
    ([name, value]) => !/^(AWS_|NODE_)/.test(name) || (isEndpoint(name) && isOnThisMachine(value ?? '')),
  );
  return {
    AWS_ENDPOINT_URL: sqsEndpoint,
    ...Object.fromEntries(kept),
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_EC2_METADATA_DISABLED: 'true',
    // Hides the user's AWS profiles with their endpoints and accounts.
    AWS_CONFIG_FILE: join(folder, 'no-config'),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'no-credentials'),
    SQS_ENDPOINT: sqsEndpoint,
    QUEUE_URL: queueUrl,
    TMPDIR: folder,
    NODE_PATH: modulesAbove(cwd).join(':'),
  };
}

const isEndpoint = (name: string): boolean => name.startsWith('AWS_ENDPOINT_URL');

/** The `node_modules` folders above `cwd`, which take the place of a layer. */
function modulesAbove(cwd: string): string[] {
  const found: string[] = [];
  for (let at = cwd; ; at = dirname(at)) {
    const modules = join(at, 'node_modules');
    if (existsSync(modules)) found.push(modules);
    if (at === dirname(at)) return found;
  }
}
