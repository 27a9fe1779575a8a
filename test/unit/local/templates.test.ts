/** The renderings of one plan: each has what the plan has, and refers to nothing that it does not make. */

import { transform } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { createApp, defineJob } from '../../../core/index.ts';
import { dynamoTable } from '../../../functions/aws/index.ts';
import { alarmsOf } from '../../../local/package/aws/alarms.ts';
import { cdkFiles } from '../../../local/package/aws/cdk.ts';
import { planAws } from '../../../local/package/aws/plan.ts';
import { samFiles } from '../../../local/package/aws/sam.ts';
import { serverlessFiles } from '../../../local/package/aws/serverless.ts';
import { tableProperties } from '../../../local/package/aws/table.ts';
import { terraformFiles } from '../../../local/package/aws/terraform.ts';

const job = (name: string, queue: string, timeoutMs = 60_000) =>
  defineJob({ name, queue, timeoutMs, payload: z.null(), handle() {} });
const app = createApp({
  jobs: [job('a', 'default'), job('b', 'orders.fifo'), job('c', 'import', 600_000)],
  queues: { 'orders.fifo': { order: 'group' }, default: { concurrency: { limit: 3 } } },
});
const plan = planAws(app, {
  service: 'shop',
  environment: { DB_URL: 'secret', FILES: 'bucket', SHOP_URL: 'parameter', LARGE: 'payloads' },
  installed: ['sharp'],
  lanes: { default: ['high'] },
  functions: {
    importer: { queues: ['import'], environment: { FILES: 'bucket to read' }, sendsTo: ['default'] },
  },
  exports: ['worker', 'schedule', 'enqueue'],
  hasTable: true,
  readsApiKey: true,
});

describe('the plan', () => {
  it('has the queues with their lanes, and numbers that belong together', () => {
    const shown = plan.queues.map(({ name, worker, visibilityS, maxReceives, concurrency }) => [
      ...[name, worker, visibilityS, maxReceives, concurrency],
    ]);
    expect(shown).toEqual([
      ['default', 'worker', 541, 20, 3],
      ['default-high', 'worker', 541, 20, 3],
      ['orders.fifo', 'worker', 540, 1000, null],
      ['import', 'importer', 3961, 20, null],
    ]);
    const [worker, importer] = plan.functions;
    expect(worker).toMatchObject({
      timeoutS: 90,
      reserved: 26,
      takes: ['Default', 'DefaultHigh', 'OrdersFifo'],
    });
    expect(importer).toMatchObject({ timeoutS: 660, reserved: 20, sends: ['Default', 'DefaultHigh'] });
    expect(plan.deadLetters.map(({ name, from }) => [name, from])).toEqual([
      ['default-dlq', ['default', 'default-high']],
      ['orders-dlq.fifo', ['orders.fifo']],
      ['import-dlq', ['import']],
    ]);
  });

  it('has the table of dynamoStore()', () => {
    expect({ TableName: 'jobs', ...tableProperties }).toEqual(dynamoTable('jobs'));
  });
});

const files = {
  serverless: Object.values(serverlessFiles(plan)).join('\n'),
  sam: samFiles(plan)['template.yaml']!,
  cdk: cdkFiles(plan)['longshore-jobs.ts']!,
  terraform: terraformFiles(plan)['main.tf']!,
};

describe.each(Object.entries(files))('%s', (_, text) => {
  it('has every queue, dead letters, alarm and right', () => {
    for (const { name } of [...plan.queues, ...plan.deadLetters, ...alarmsOf(plan)])
      expect(text).toContain(name);
    expect(text.includes('s3:DeleteObject') && text.includes('s3:ListBucket'), 'for s3Payloads()').toBe(true);
    for (const word of [
      'ReportBatchItemFailures',
      'ChangeMessageVisibility',
      'nodejs24',
      'arm64',
      'signing-keys',
    ])
      expect(
        text
          .replace(/reportBatchItemFailures: true/, 'ReportBatchItemFailures')
          .replace(/NODEJS_24_X/, 'nodejs24')
          .replace(/ARM_64/, 'arm64'),
      ).toContain(word);
    for (const { visibilityS, maxReceives } of plan.queues) {
      expect(text).toContain(String(visibilityS));
      expect(text).toContain(String(maxReceives));
    }
  });
});

it('the CDK construct is TypeScript', async () => {
  const { code, warnings } = await transform(files.cdk, { loader: 'ts', format: 'esm' });
  expect(warnings).toEqual([]);
  expect(code).toContain('LongshoreJobs');
});

it('the SAM template refers only to what it has', () => {
  const used = new Set<string>();
  const form = (tag: string, idsIn: (text: string) => string[]) => ({
    tag,
    resolve: (text: string) => {
      for (const id of idsIn(text)) used.add(id);
      return text;
    },
  });
  const inText = (text: string) => [...text.matchAll(/\$\{([\w:]+)/g)].map(([, id]) => id!);
  const customTags = [
    form('!Ref', (id) => [id]),
    form('!GetAtt', (text) => [text.split('.')[0]!]),
    form('!Sub', inText),
  ];
  const { Resources, Parameters } = parse(files.sam, { customTags, logLevel: 'silent' });
  const there = [...Object.keys(Resources), ...Object.keys(Parameters)];
  expect([...used].filter((id) => !id.startsWith('AWS::') && !there.includes(id))).toEqual([]);
  expect(Object.keys(Parameters).filter((name) => !used.has(name))).toEqual([]);
  expect(used.size).toBeGreaterThan(20);
});

it('main.tf refers only to what it has', () => {
  const text = files.terraform.replace(/^ *#.*$/gm, '');
  for (const [open, close] of ['{}', '[]', '()'])
    expect(text.split(open!).length).toBe(text.split(close!).length);
  const declared = new Set([
    ...[...text.matchAll(/^(?:resource|data) "(\w+)" "(\w+)"/gm)].map(([, type, name]) => `${type}.${name}`),
    ...[...text.matchAll(/^variable "(\w+)"/gm)].map(([, name]) => `var.${name}`),
    ...[...text.matchAll(/^locals \{\n(.*?)^\}/gms)].flatMap(([, body]) =>
      [...body!.matchAll(/^ {2}(\w+) += /gm)].map(([, name]) => `local.${name}`),
    ),
  ]);
  const used = [...text.matchAll(/(?<![\w."/-])(aws_\w+|archive_file|var|local)\.(\w+)/g)].map(
    ([, type, name]) => `${type}.${name}`,
  );
  const inData = [...text.matchAll(/data\.(\w+)\.(\w+)/g)].map(([, type, name]) => `${type}.${name}`);
  expect([...new Set([...used, ...inData])].filter((one) => !declared.has(one))).toEqual([]);
  expect(used.length).toBeGreaterThan(50);
  const variables = [...declared].filter((one) => one.startsWith('var.'));
  expect(variables).toEqual(['var.stage', 'var.queue_concurrency', 'var.shop_url']);
  expect(variables.filter((one) => !text.includes(one))).toEqual([]);
});
