import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isOnThisMachine } from '../../../core/base/loopback.ts';
import { developmentKeyPath, developmentKeys } from '../../../core/envelope/signing-keys.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import type { SimulationConfig } from '../../simulate/lambda/options.ts';
import type { Config } from '../config/config.ts';
import { flag } from '../config/flags.ts';
import { checkPackages } from '../config/packages.ts';
import { duration, integer } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { usage, wrongConfig } from '../errors.ts';
import { createReporter, summaryLines } from '../output/simulation-lines.ts';
import { untilStopped } from './until-stopped.ts';

const words = { platform: 'lambda', broker: 'SQS', deadLettersOf: (queue: string) => `${queue}-dlq` };

export const simulateLambda = defineCommand({
  path: 'simulate lambda',
  summary: 'run your Lambda functions on this machine, behind SQS, as AWS would',
  about:
    "Bundles the file that exports `worker` and `schedule` (what lambda() gives), starts it in AWS's own runtime client, and feeds it from SQS by the rules of AWS: batches, partial failures, visibility, redrive, timeouts. The queues are those of the app, on SQS_ENDPOINT (LocalStack, ElasticMQ) or in this process. A `main.mjs` is taken as it is, with the parts beside it. Functions that call dynamoStore() get a table in this process, or AWS_ENDPOINT_URL_DYNAMODB. The functions get QUEUE_URL, TABLE, SQS_ENDPOINT and no real credentials; no call of theirs reaches AWS. Ctrl-C ends it. Needs esbuild, aws-lambda-ric, @aws-sdk/client-sqs, without SQS_ENDPOINT fauxqs, and for dynamoStore() dynalite.",
  args: [
    { name: '[entry]', text: 'file with the functions; by default the entry of `simulation` in the config' },
  ],
  flags: {
    exitWhenIdle: flag('--exit-when-idle', 'stop when no queue holds or hides a message'),
    batchSize: flag('--batch-size <n>', 'messages of one invocation at most', integer(1, 10_000), '10'),
    concurrency: flag(
      '--concurrency <n>',
      'invocations at the same time, each in a process',
      integer(1, 100),
      '2',
    ),
    timeout: flag('--timeout <duration>', 'of the function', duration(1_000), '30s'),
    visibility: flag(
      '--visibility <duration>',
      'of the queues; by default six times the timeout',
      duration(1_000),
    ),
    maxReceives: flag(
      '--max-receives <n>',
      'deliveries after which SQS moves a message to the dead letters',
      integer(1, 1_000),
      '20',
    ),
    prefix: flag('--prefix <text>', "stands before every queue's name", prefix, 'longshore-'),
    schedules: flag('--no-schedules', 'never call `schedule`'),
  },
  examples: [
    'longshore simulate lambda functions.ts',
    'longshore simulate lambda --config examples/longshore.config.ts --exit-when-idle',
    'SQS_ENDPOINT=http://127.0.0.1:4566 longshore simulate lambda functions.ts --timeout 5s --visibility 5s',
  ],
  exits: { 0: 'stopped by Ctrl-C or SIGTERM, or idle; dead letters are in the summary' },
  async run(input) {
    const { args, flags, session, io, ui, json } = input;
    const config = await session.config();
    const { app, simulation } = config;
    const entry = entryOf(io.cwd, args[0], config);
    const endpoint = endpointOf(io.env.SQS_ENDPOINT);
    const own = args[0] === undefined ? simulation : undefined;
    checkPackages(packagesFor(endpoint, own), { fauxqs: 'Or set SQS_ENDPOINT to LocalStack or ElasticMQ.' });
    const { simulate } = await import('../../simulate/lambda/simulation.ts');
    const { buildFunctions } = await import('../../package/aws/package.ts');
    const summary = await untilStopped(input, (signal) =>
      simulate(
        {
          queues: app.queues,
          lanes: simulation?.lanes ?? {},
          endpoint,
          prefix: flags.prefix,
          timeoutMs: flags.timeout,
          visibilityMs: flags.visibility ?? 6 * flags.timeout,
          maxReceives: flags.maxReceives,
          batchSize: flags.batchSize,
          recursiveLoop: simulation?.recursiveLoop ?? 'Terminate',
          concurrency: flags.concurrency,
          schedules: flags.schedules !== false && (app.schedules.length > 0 || 'if exported'),
          exitWhenIdle: flags.exitWhenIdle === true,
          env: { ...io.env, LONGSHORE_SIGNING_KEYS: signingKeys(app, io.env) },
          build: async (folder) => {
            if (!own?.build) return buildFunctions(entry, folder, config.deployment?.installed ?? []);
            await own.build(folder);
            return undefined;
          },
          ...(own?.start && { start: own.start }),
          on: json ? () => {} : createReporter(io, ui, words),
        },
        dirname(entry),
        signal,
      ),
    );
    return { data: { ...summary }, text: summaryLines(summary, ui, words) };
  },
});

function prefix(text: string): string {
  if (/^[A-Za-z0-9_-]{0,40}$/.test(text)) return text;
  throw usage(`Expected --prefix to be up to 40 of A-Z a-z 0-9 _ -, got ${JSON.stringify(text)}.`);
}

function entryOf(cwd: string, given: string | undefined, { path, simulation }: Config): string {
  if (given === undefined && simulation?.entry === undefined) {
    throw usage(
      "Expected a file that exports worker, got none. Name it, or write `export const simulation = { entry: './functions.ts' }` in the config.",
    );
  }
  const entry = given === undefined ? resolve(dirname(path), simulation!.entry!) : resolve(cwd, given);
  if (existsSync(entry)) return entry;
  throw wrongConfig(`There is no file ${entry}. Correct the entry.`);
}

function endpointOf(url: string | undefined): string | null {
  if (!url) return null;
  if (isOnThisMachine(url)) return url;
  throw wrongConfig(
    `Expected SQS_ENDPOINT to be on this machine, got ${url}. A simulation makes queues and runs what is in them.`,
  );
}

function packagesFor(
  endpoint: string | null,
  simulation: Pick<SimulationConfig, 'build'> | undefined,
): Record<string, () => string> {
  return {
    '@aws-sdk/client-sqs': () => import.meta.resolve('@aws-sdk/client-sqs'),
    'aws-lambda-ric': () => import.meta.resolve('aws-lambda-ric'),
    ...(simulation?.build ? {} : { esbuild: () => import.meta.resolve('esbuild') }),
    ...(endpoint === null ? { fauxqs: () => import.meta.resolve('fauxqs') } : {}),
  };
}

/** Functions on Lambda have no development key. The simulation passes them the one that `longshore enqueue` uses. */
function signingKeys(app: App, env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (env.LONGSHORE_SIGNING_KEYS) return env.LONGSHORE_SIGNING_KEYS;
  app.keyRing();
  const path = developmentKeyPath(process.cwd());
  if (!existsSync(path)) return undefined;
  const keys = developmentKeys(path);
  return keys.map(({ kid, secret }) => `${kid}:${Buffer.from(secret).toString('base64')}`).join(',');
}
