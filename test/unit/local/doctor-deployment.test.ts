/** What `longshore doctor` reads in host.json and in a CloudFormation template. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { createApp, defineJob, keyRing } from '../../../core/index.ts';
import { deploymentChecks } from '../../../local/cli/doctor/deployment.ts';
import { lookedAt } from '../../services/diagnoses.ts';

const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
const job = (name: string, queue: string, timeoutMs: number, maxRetries = 3) =>
  defineJob({ name, queue, timeoutMs, maxRetries, payload: z.null(), handle() {} });
const app = createApp({ signing, jobs: [job('mail.send', 'mail', 60_000), job('big', 'import', 600_000)] });

/** What is found in a package with these files. @param template a path in its folder */
function looked(files: Readonly<Record<string, unknown>>, template?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-deployment-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries({ 'package.json': {}, ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  const diagnose = async () => deploymentChecks(app, join(folder, 'src'), template && join(folder, template));
  mkdirSync(join(folder, 'src'), { recursive: true });
  return lookedAt({ diagnose });
}

describe('host.json', () => {
  const host = (serviceBus: object = {}, functionTimeout = '00:30:00') => ({
    'host.json': {
      functionTimeout,
      extensions: { serviceBus: { maxAutoLockRenewalDuration: '00:30:00', ...serviceBus } },
    },
  });

  it('that fits the jobs is told nothing', async () => {
    expect(await looked(host())).toEqual({ found: {}, notChecked: {} });
    expect(await looked({})).toEqual({ found: {}, notChecked: {} });
  });

  it.each([
    ['host.timeout', {}, '00:10:00', /functionTimeout is 10 min, and job "big" may run for 10 min/],
    ['host.lock', { maxAutoLockRenewalDuration: '00:05:00' }, '00:30:00', /is 5 min, and job "big"/],
    ['host.complete', { autoCompleteMessages: false }, '00:30:00', /autoCompleteMessages is false/],
    ['host.prefetch', { prefetchCount: 20 }, '00:30:00', /prefetchCount is 20/],
  ])('is told of %s', async (id, serviceBus, functionTimeout, text) => {
    expect((await looked(host(serviceBus, functionTimeout))).found).toEqual({
      [id]: [
        expect.objectContaining({
          where: expect.stringMatching(/host\.json$/),
          text: expect.stringMatching(text),
        }),
      ],
    });
  });

  it('that is no JSON, or has a wrong time, is an error of its checks', async () => {
    await expect(looked({ 'host.json': '{' })).rejects.toThrow(/host\.json to be JSON/);
    await expect(looked(host({}, 'soon'))).rejects.toThrow(/functionTimeout of .* to be a time/);
  });
});

describe('a template of CloudFormation', () => {
  const att = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
  const resources = {
    Mail: {
      Type: 'AWS::SQS::Queue',
      Properties: {
        QueueName: 'shop-prod-mail',
        VisibilityTimeout: 541,
        MessageRetentionPeriod: 604_800,
        RedrivePolicy: { deadLetterTargetArn: att('Dead'), maxReceiveCount: 8 },
      },
    },
    Dead: { Type: 'AWS::SQS::Queue', Properties: { MessageRetentionPeriod: 1_209_600 } },
    Worker: {
      Type: 'AWS::Lambda::Function',
      Properties: { Timeout: 90, ReservedConcurrentExecutions: 20, RecursiveLoop: 'Allow' },
    },
    Minute: { Type: 'AWS::Scheduler::Schedule', Properties: { ScheduleExpression: 'rate(1 minute)' } },
    Source: {
      Type: 'AWS::Lambda::EventSourceMapping',
      Properties: {
        EventSourceArn: att('Mail'),
        FunctionName: att('Worker'),
        BatchSize: 10,
        MaximumBatchingWindowInSeconds: 1,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ScalingConfig: { MaximumConcurrency: 20 },
      },
    },
  };
  type Id = keyof typeof resources;

  /** The template with other properties of one resource; undefined takes one away. */
  const changed = (id: Id, properties: object = {}) => {
    const { Type, Properties } = resources[id];
    return { Resources: { ...resources, [id]: { Type, Properties: { ...Properties, ...properties } } } };
  };
  const path = '.serverless/cloudformation-template-update-stack.json';

  it('that fits the jobs is told nothing', async () => {
    expect(await looked({ [path]: changed('Mail') })).toEqual({ found: {}, notChecked: {} });
  });

  it.each<[string, Id, object, string, RegExp]>([
    ['aws.batch', 'Source', { FunctionResponseTypes: undefined }, 'error', /the whole batch runs again/],
    [
      'aws.batch',
      'Source',
      { BatchSize: 100, MaximumBatchingWindowInSeconds: 0 },
      'error',
      /batchSize is 100 without a batching window/,
    ],
    ['aws.timeout', 'Worker', { Timeout: 60 }, 'error', /Worker may run for 60 s, and its jobs for 60 s/],
    ['aws.visibility', 'Mail', { VisibilityTimeout: 540 }, 'warning', /is 540 s, and its function .* 90 s/],
    ['aws.visibility', 'Mail', { VisibilityTimeout: undefined }, 'error', /is 30 s,.* run twice/],
    [
      'aws.receives',
      'Mail',
      { RedrivePolicy: { deadLetterTargetArn: att('Dead'), maxReceiveCount: 7 } },
      'error',
      /maxReceiveCount is 7/,
    ],
    ['aws.receives', 'Mail', { FifoQueue: true }, 'error', /maxReceiveCount is 8/],
    ['aws.recursion', 'Worker', { RecursiveLoop: undefined }, 'warning', /about 16 messages/],
    ['aws.redrive', 'Mail', { RedrivePolicy: undefined }, 'warning', /no RedrivePolicy/],
    ['aws.redrive', 'Dead', { MessageRetentionPeriod: undefined }, 'warning', /345600 s, .*604800 s/],
    ['aws.concurrency', 'Worker', { ReservedConcurrentExecutions: 5 }, 'warning', /up to 20 .* 5 times/],
    [
      'aws.concurrency',
      'Source',
      { ScalingConfig: undefined },
      'warning',
      /^Mail may call it without a limit/,
    ],
  ])('is told of %s where %s has %o', async (id, resource, properties, severity, text) => {
    expect((await looked({ [path]: changed(resource, properties) })).found).toEqual({
      [id]: [expect.objectContaining({ severity, text: expect.stringMatching(text) })],
    });
  });

  it('is told where nothing calls a function once a minute', async () => {
    const { Minute: _, ...others } = resources;
    expect((await looked({ [path]: { Resources: others } })).found).toEqual({
      'aws.schedule': [
        expect.objectContaining({ severity: 'warning', text: expect.stringMatching(/batches/) }),
      ],
    });
    const Rule = { Type: 'AWS::Events::Rule', Properties: { ScheduleExpression: 'rate(1 minute)' } };
    expect((await looked({ [path]: { Resources: { ...others, Rule } } })).found).toEqual({});
  });

  it('knows its queues by the end of their names, lanes and FIFO queues too', async () => {
    for (const QueueName of [
      'shop-import',
      'import-high',
      'shop-import.fifo',
      { 'Fn::Sub': ['$', '{P}-import'].join('') },
    ])
      expect((await looked({ [path]: changed('Mail', { QueueName }) })).found).toHaveProperty([
        'aws.timeout',
      ]);
  });

  it('may be another file', async () => {
    const found = await looked({ 'out/own.json': changed('Worker', { Timeout: 60 }) }, 'out/own.json');
    expect(Object.keys(found.found)).toEqual(['aws.timeout']);
    await expect(looked({ 'out/own.json': '[]' }, 'out/own.json')).rejects.toThrow(/has no Resources/);
    await expect(looked({}, 'missing.json')).rejects.toThrow(/Expected .*missing\.json to be/);
  });

  it('that was not made yet is said not to be checked', async () => {
    expect(await looked({ 'serverless.yml': 'service: shop' })).toEqual({
      found: {},
      notChecked: { 'aws.template': expect.stringMatching(/Run serverless package/) },
    });
  });
});
