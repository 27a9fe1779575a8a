/** What would be deployed, held against the app: names, numbers, permissions. Made by osls, without a network. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { App } from '../../../core/index.ts';
import { createExampleApp } from '../../../examples/app/app.ts';
import { lanes } from '../../../examples/aws/lanes.ts';
import { dynamoTable } from '../../../functions/aws/index.ts';
import { shared } from '../../kit/shared/shared.ts';

interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever CloudFormation has
  readonly Properties: any;
}

const root = resolve(import.meta.dirname, '../../..');
const prefix = 'longshore-example-dev-';
let resources: Readonly<Record<string, Resource>>;
let app: App;

beforeAll(async () => {
  const { folder } = await shared('aws');
  const text = readFileSync(join(folder, 'cloudformation-template-update-stack.json'), 'utf8');
  ({ Resources: resources } = JSON.parse(text) as { Resources: Record<string, Resource> });
  app = createExampleApp({} as never).app;
});

const ofType = (type: string): [string, Resource['Properties']][] =>
  Object.entries(resources)
    .filter(([, resource]) => resource.Type === type)
    .map(([id, { Properties }]) => [id, Properties]);

const resourceOf = (arn: { 'Fn::GetAtt': [string, string] }) => resources[arn['Fn::GetAtt'][0]]!.Properties;

/** Every queue of the app with what stands around it. */
function sources() {
  return ofType('AWS::Lambda::EventSourceMapping').map(([, mapping]) => {
    const queue = resourceOf(mapping.EventSourceArn);
    const policy = queue.RedrivePolicy;
    const deadLetters = resourceOf(policy.deadLetterTargetArn);
    const timeout = resourceOf(mapping.FunctionName).Timeout as number;
    const physical = queue.QueueName.slice(prefix.length) as string;
    return {
      physical,
      /** Of the app; a lane has that of its queue. */
      name: physical.replace(/-(critical|high|low)$/, ''),
      mapping,
      queue,
      policy,
      deadLetters,
      timeout,
    };
  });
}

/** Of a queue whose jobs have so many retries. */
function fewestReceives({ FifoQueue = false }: { FifoQueue?: boolean }, retries: readonly number[]): number {
  // A job is received again each time one before it in its group fails, and would become a dead letter without having run.
  if (FifoQueue) return 1_000;
  // The attempts, one more that is found to be too many, and some deliveries that did not count.
  return Math.max(5, ...retries.map((count) => count + 5));
}

/** What CloudFormation would fill in. */
const set = {
  QUEUE_URL: 'http://127.0.0.1:1/000000000000/x-',
  TABLE: 'x-jobs',
  API_KEY: 'x'.repeat(32),
  LONGSHORE_SIGNING_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
};

describe('the template of serverless.yml', () => {
  it('has a queue, its lanes, its dead letters and one event source each for every queue of the app, and no other', () => {
    const besides = Object.entries(lanes).flatMap(([name, more]) => more.map((lane) => `${name}-${lane}`));
    const physical = sources().map((source) => source.physical);
    expect(physical.sort()).toEqual([...app.queues, ...besides].sort());
    const names = ofType('AWS::SQS::Queue').map(
      ([, { QueueName }]) => QueueName.slice(prefix.length) as string,
    );
    expect(names.sort()).toEqual(
      [...app.queues, ...besides, ...app.queues.map((name) => `${name}-dlq`)].sort(),
    );
    for (const { name, deadLetters } of sources()) expect(deadLetters.QueueName).toBe(`${prefix}${name}-dlq`);
  });

  it('lets failures be reported one by one, with a window where a batch is larger than ten', () => {
    for (const { mapping } of sources()) {
      expect(mapping.FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
      if (mapping.BatchSize > 10) expect(mapping.MaximumBatchingWindowInSeconds).toBeGreaterThanOrEqual(1);
      expect(mapping.ScalingConfig.MaximumConcurrency).toBeGreaterThanOrEqual(2);
    }
  });

  it('hides messages six times as long as their function may run, and the window', () => {
    for (const { queue, timeout, mapping } of sources()) {
      const least = 6 * timeout + mapping.MaximumBatchingWindowInSeconds;
      expect(queue.VisibilityTimeout).toBeGreaterThanOrEqual(least);
    }
  });

  it('gives every job the time it may take', () => {
    for (const { name, timeout } of sources()) {
      for (const job of app.jobs.values()) {
        if (job.queue === name) expect(timeout * 1000 - 2_000).toBeGreaterThanOrEqual(job.timeoutMs);
      }
    }
  });

  it('leaves dead letters to Longshore, and keeps them longer than what waits', () => {
    for (const { name, policy, queue, deadLetters } of sources()) {
      const retries = [...app.jobs.values()].filter((job) => job.queue === name).map((job) => job.maxRetries);
      expect(policy.maxReceiveCount, name).toBeGreaterThanOrEqual(fewestReceives(queue, retries));
      expect(deadLetters.MessageRetentionPeriod).toBe(14 * 86_400);
      expect(queue.MessageRetentionPeriod).toBeLessThan(deadLetters.MessageRetentionPeriod);
    }
  });

  it('has an example of a FIFO queue in the docs, whose jobs may wait long behind one that fails', () => {
    const page = readFileSync(join(root, 'docs/aws.md'), 'utf8');
    const block = /```yaml\n(OrdersQueue:.*?)```/s.exec(page)![1]!;
    const { OrdersQueue, OrdersDeadLetters } = parse(block, { logLevel: 'silent' });
    const { FifoQueue, RedrivePolicy, QueueName } = OrdersQueue.Properties;
    expect(FifoQueue).toBe(true);
    expect(RedrivePolicy.maxReceiveCount).toBeGreaterThanOrEqual(fewestReceives(OrdersQueue.Properties, [3]));
    // As sqs() names it, and SQS wants one to be as the other.
    expect(OrdersDeadLetters.Properties).toMatchObject({
      FifoQueue: true,
      QueueName: QueueName.replace('.fifo', '-dlq.fifo'),
    });
  });

  it('runs on Node 24 on arm64, and calls handlers that the bundle has', async () => {
    const functions = ofType('AWS::Lambda::Function').map(([, properties]) => properties);
    expect(functions.map(({ Handler }) => Handler.split('.')[1]).sort()).toEqual([
      'enqueue',
      'schedule',
      'worker',
      'worker',
    ]);
    const { PATH } = process.env;
    const environment = { ...functions[0].Environment.Variables, PATH, ...set };
    const main = JSON.stringify(join(root, 'dist/functions/main.mjs'));
    const program = `import(${main}).then((m) => console.log(Object.keys(m).sort().join()))`;
    const exported = execFileSync(process.execPath, ['-e', program], { env: environment, encoding: 'utf8' });
    expect(exported.trim()).toBe('enqueue,schedule,worker');
    for (const { Runtime, Architectures } of functions) {
      expect([Runtime, Architectures]).toEqual(['nodejs24.x', ['arm64']]);
    }
  });

  it('ticks every minute and serves HTTP', () => {
    const [[, schedule] = []] = ofType('AWS::Scheduler::Schedule');
    expect(schedule).toMatchObject({
      ScheduleExpression: 'cron(* * * * ? *)',
      ScheduleExpressionTimezone: 'Europe/Berlin',
    });
    expect(ofType('AWS::ApiGatewayV2::Route')).toHaveLength(1);
  });

  it('allows what the functions do, on their own queues and table', () => {
    const [[, role] = []] = ofType('AWS::IAM::Role').filter(([id]) => id === 'IamRoleLambdaExecution');
    const statements = role.Policies[0].PolicyDocument.Statement as { Action: string[]; Resource: unknown }[];
    const actions = statements.flatMap(({ Action }) => Action);
    expect(actions).toEqual(
      expect.arrayContaining([
        'sqs:SendMessage',
        'sqs:ChangeMessageVisibility',
        'sqs:ReceiveMessage',
        'sqs:DeleteMessage',
        'sqs:GetQueueAttributes',
        'dynamodb:PutItem',
      ]),
    );
    for (const { Action, Resource } of statements) {
      const text = JSON.stringify(Resource);
      if (Action.some((name) => /^(sqs|dynamodb):/.test(name))) {
        expect(text).toMatch(/longshore-example-dev-\*|Queue|Table/);
        expect(text).not.toMatch(/"\*"/);
      }
      expect(Action.some((name) => name.includes('*'))).toBe(false);
    }
  });

  it('makes the table that dynamoStore() expects', () => {
    expect(resources.Table?.Properties).toEqual(dynamoTable(`${prefix}jobs`));
  });

  it('writes no secret into the template', () => {
    for (const [, { Environment }] of ofType('AWS::Lambda::Function')) {
      const { LONGSHORE_SIGNING_KEYS, API_KEY } = Environment.Variables;
      for (const value of [LONGSHORE_SIGNING_KEYS, API_KEY]) {
        expect(value).toMatch(/^\{\{resolve:secretsmanager:longshore\/[\w-]+\}\}$/);
      }
    }
  });

  it('has lanes where jobs of a queue differ in priority, and nowhere else', () => {
    for (const queue of app.queues) {
      const jobs = [...app.jobs.values()].filter((job) => job.queue === queue);
      const differ = new Set(jobs.map(({ priority }) => priority)).size > 1;
      expect(Object.hasOwn(lanes, queue), queue).toBe(differ);
    }
  });
});

describe('the alarms', () => {
  const alarms = () => ofType('AWS::CloudWatch::Alarm').map(([, properties]) => properties);
  /** By the name of what is watched, as the template makes it. */
  const watched = (namespace: string, metric: string) =>
    new Map(
      alarms()
        .filter(({ Namespace, MetricName }) => Namespace === namespace && MetricName === metric)
        .map((alarm) => {
          const [{ Name, Value }] = alarm.Dimensions;
          expect(Name).toBe(namespace === 'AWS/SQS' ? 'QueueName' : 'FunctionName');
          const { Ref: ref, 'Fn::GetAtt': att } = Value;
          const { QueueName, FunctionName } = resources[ref ?? att[0]]!.Properties;
          if (att) expect(att[1]).toBe('QueueName');
          return [(QueueName ?? FunctionName).slice(prefix.length) as string, alarm];
        }),
    );
  const functionNames = () =>
    ofType('AWS::Lambda::Function')
      .map(([, { FunctionName }]) => FunctionName.slice(prefix.length) as string)
      .sort();

  it('go off at the first dead letter of any queue', () => {
    const found = watched('AWS/SQS', 'ApproximateNumberOfMessagesVisible');
    expect([...found.keys()].sort()).toEqual(app.queues.map((name) => `${name}-dlq`).sort());
    for (const [name, alarm] of found) {
      const fires = ['GreaterThanThreshold', 0, 'Maximum', 1, 'notBreaching'];
      const { ComparisonOperator, Threshold, Statistic, EvaluationPeriods, TreatMissingData } = alarm;
      expect([ComparisonOperator, Threshold, Statistic, EvaluationPeriods, TreatMissingData]).toEqual(fires);
      expect(alarm.AlarmName).toBe(`${prefix}${name.replace(/-dlq$/, '')}-dead-letters`);
    }
  });

  it('go off when a queue is late, but not while one of its jobs may run', () => {
    const found = watched('AWS/SQS', 'ApproximateAgeOfOldestMessage');
    const besides = Object.entries(lanes).flatMap(([name, more]) => more.map((lane) => `${name}-${lane}`));
    expect([...found.keys()].sort()).toEqual([...app.queues, ...besides].sort());
    for (const [name, { Threshold, Statistic, ComparisonOperator, AlarmName }] of found) {
      const jobs = [...app.jobs.values()].filter((job) => job.queue === name.replace(/-(high|low)$/, ''));
      const longestMs = Math.max(...jobs.map(({ timeoutMs }) => timeoutMs));
      expect(Threshold * 1000).toBeGreaterThan(2 * longestMs);
      expect([Statistic, ComparisonOperator]).toEqual(['Maximum', 'GreaterThanThreshold']);
      expect(AlarmName).toBe(`${prefix}${name}-age`);
    }
  });

  it('go off when a function fails or is throttled', () => {
    for (const metric of ['Errors', 'Throttles']) {
      const found = watched('AWS/Lambda', metric);
      expect([...found.keys()].sort()).toEqual(functionNames());
      for (const { Statistic, Threshold, ComparisonOperator, TreatMissingData } of found.values()) {
        const fires = ['Sum', 0, 'GreaterThanThreshold', 'notBreaching'];
        expect([Statistic, Threshold, ComparisonOperator, TreatMissingData]).toEqual(fires);
      }
    }
  });

  it('go off when nobody calls the schedule function any more', () => {
    const found = watched('AWS/Lambda', 'Invocations');
    expect([...found.keys()]).toEqual(['schedule']);
    const { Period, EvaluationPeriods, Threshold, ComparisonOperator, TreatMissingData } =
      found.get('schedule');
    expect([ComparisonOperator, Threshold, TreatMissingData]).toEqual(['LessThanThreshold', 1, 'breaching']);
    expect(Period * EvaluationPeriods).toBeGreaterThanOrEqual(2 * 60); // one tick a minute; one may be late
  });

  it('all tell the topic, and have names of their own', () => {
    expect(resources.AlarmTopic).toMatchObject({
      Type: 'AWS::SNS::Topic',
      Properties: { TopicName: `${prefix}alarms` },
    });
    for (const { AlarmActions, OKActions } of alarms()) {
      expect([AlarmActions, OKActions]).toEqual([[{ Ref: 'AlarmTopic' }], [{ Ref: 'AlarmTopic' }]]);
    }
    const names = alarms().map(({ AlarmName }) => AlarmName);
    expect(new Set(names).size).toBe(names.length);
    const besides = Object.values(lanes).flat().length;
    expect(names.length).toBe(2 * app.queues.length + besides + 2 * functionNames().length + 1);
  });
});
