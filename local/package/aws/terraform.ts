/** Terraform: the plan as locals, and resources that are made of them. */

import { kebab } from '../names.ts';
import { type AlarmPlan, alarmsOf } from './alarms.ts';
import {
  type AwsPlan,
  bucketOf,
  type FunctionPlan,
  isBucket,
  queueConcurrency,
  variablesOf,
} from './plan.ts';
import { grantsOf, type Subject } from './roles.ts';
import {
  alarms,
  buckets,
  functionBlocks,
  http,
  queueBlocks,
  schedule,
  table,
} from './terraform-resources.ts';

export function terraformFiles(plan: AwsPlan): Record<string, string> {
  const kinds = plan.functions.map(({ kind }) => kind);
  const parts = [
    head(plan),
    locals(plan),
    queueBlocks,
    ...(plan.hasTable ? [table] : []),
    ...(plan.buckets.length > 0 ? [buckets] : []),
    functionBlocks(plan),
    ...(kinds.includes('schedule') ? [schedule] : []),
    ...(kinds.includes('enqueue') ? [http] : []),
    alarms,
  ];
  return { 'main.tf': `${parts.map((part) => part.trim()).join('\n\n')}\n` };
}

/** An expression of Terraform, as against a text. */
class Expression {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
const expression = (text: string) => new Expression(text);

type Value =
  | string
  | number
  | boolean
  | null
  | Expression
  | readonly Value[]
  | { readonly [name: string]: Value };

function hcl(value: Value, indent: string): string {
  if (value instanceof Expression) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const line = `[${value.map((item: Value) => hcl(item, indent)).join(', ')}]`;
    if (line.length < 90 && !line.includes('\n')) return line;
    return `[\n${value.map((item: Value) => `${inner}${hcl(item, inner)},\n`).join('')}${indent}]`;
  }
  const entries = Object.entries(value);
  const keys = entries.map(([name]) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)));
  const texts = entries.map(([, member]) => hcl(member, inner));
  /** As `terraform fmt` aligns them: neighbours in one line each. */
  const widthAt = (i: number): number => {
    if (texts[i]!.includes('\n')) return 0;
    let [from, to] = [i, i];
    while (from > 0 && !texts[from - 1]!.includes('\n')) from--;
    while (to < texts.length - 1 && !texts[to + 1]!.includes('\n')) to++;
    return Math.max(...keys.slice(from, to + 1).map(({ length }) => length));
  };
  const lines = texts.map((text, i) => `${inner}${keys[i]!.padEnd(widthAt(i))} = ${text}\n`);
  return `{\n${lines.join('')}${indent}}`;
}

const head = ({ service, functions, hasTable }: AwsPlan): string => `
# The functions, queues and state of ${service} on AWS, written by \`longshore package aws --template terraform\`. It is yours now.
# \`terraform apply -var stage=prod\` deploys it. The numbers belong together: docs/aws.md of Longshore says how.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws     = { source = "hashicorp/aws", version = "~> 6.0" }
    archive = { source = "hashicorp/archive", version = "~> 2.7" }
  }
}

variable "stage" {
  type    = string
  default = "dev"
}

# Functions side by side for one queue.
variable "queue_concurrency" {
  type    = number
  default = ${queueConcurrency}
}
${parametersOf(functions)
  .map((name) => `\nvariable "${kebab(name).replaceAll('-', '_')}" {\n  type = string\n}\n`)
  .join('')}
data "aws_caller_identity" "current" {}
data "aws_region" "current" {}
data "aws_partition" "current" {}

locals {
  prefix = "${service}-\${var.stage}-"
  # The start of every queue's URL, and the names of the secrets.
  queue_url = "https://sqs.\${data.aws_region.current.region}.\${data.aws_partition.current.dns_suffix}/\${data.aws_caller_identity.current.account_id}/\${local.prefix}"
  secrets   = "${service}/\${var.stage}"
  common = {
    QUEUE_URL              = local.queue_url
    LONGSHORE_SIGNING_KEYS = data.aws_secretsmanager_secret_version.of["signing-keys"].secret_string${hasTable ? '\n    TABLE                  = aws_dynamodb_table.jobs.name' : ''}
  }
}

# The state of Terraform then has these secrets as plain text: let few people read it.
data "aws_secretsmanager_secret_version" "of" {
  for_each  = toset(${hcl(['signing-keys', ...secretsOf(functions)], '  ')})
  secret_id = "\${local.secrets}/\${each.key}"
}`;

const secretsOf = (functions: readonly FunctionPlan[]) =>
  variablesOf(functions, (kind) => kind === 'secret').map(kebab);
const parametersOf = (functions: readonly FunctionPlan[]) =>
  variablesOf(functions, (kind) => kind === 'parameter');

function locals(plan: AwsPlan): string {
  const queues = plan.queues.map(
    ({ name, deadLetters, worker, fifo, visibilityS, maxReceives, concurrency }): [string, Value] => [
      name,
      {
        ...{ worker, fifo, visibility_s: visibilityS, dead_letters: deadLetters, max_receives: maxReceives },
        concurrency: concurrency ?? expression('var.queue_concurrency'),
      },
    ],
  );
  const letters = plan.deadLetters.map(({ name, fifo, from }): [string, Value] => [name, { fifo, from }]);
  const functions = plan.functions.map((one): [string, Value] => [
    one.name,
    {
      ...{ handler: `main.${one.kind}`, timeout_s: one.timeoutS, reserved: one.reserved },
      environment: Object.fromEntries(
        one.settings.map(([name, kind]) => [name, settingOf(name, kind, plan)]),
      ),
      allow: grantsOf(one, plan).map(({ actions, on }) => ({
        Effect: 'Allow',
        Action: actions,
        Resource: on.map((subject) => expression(arnOf(subject, one, plan))),
      })),
    },
  ]);
  const own = plan.buckets.map(({ name }) => name);
  const of = {
    queues: Object.fromEntries(queues),
    dead_letters: Object.fromEntries(letters),
    functions: Object.fromEntries(functions),
    ...(own.length > 0 && { buckets: own }),
    alarms: Object.fromEntries(alarmsOf(plan).map((one) => [one.name, alarmOf(one, plan)])),
  };
  return `locals ${hcl(of, '')}`;
}

function settingOf(name: string, kind: FunctionPlan['settings'][number][1], plan: AwsPlan): Expression {
  if (isBucket(kind)) return expression(`aws_s3_bucket.of["${bucketOf(plan, name).name}"].bucket`);
  if (kind === 'parameter') return expression(`var.${kebab(name).replaceAll('-', '_')}`);
  return expression(`data.aws_secretsmanager_secret_version.of["${kebab(name)}"].secret_string`);
}

const nameOf = (all: readonly { readonly id: string; readonly name: string }[], id: string): string =>
  all.find((one) => one.id === id)!.name;

const queueOf = (id: string, { queues }: AwsPlan): string => `aws_sqs_queue.of["${nameOf(queues, id)}"]`;
const lettersOf = (id: string, { deadLetters }: AwsPlan): string =>
  `aws_sqs_queue.dead_letters["${nameOf(deadLetters, id)}"]`;
const bucketWith = (id: string, plan: AwsPlan): string => `aws_s3_bucket.of["${nameOf(plan.buckets, id)}"]`;

function arnOf(subject: Subject, { name }: FunctionPlan, plan: AwsPlan): string {
  switch (subject.type) {
    case 'queue':
      return `${queueOf(subject.id, plan)}.arn`;
    case 'dead letters':
      return `${lettersOf(subject.id, plan)}.arn`;
    case 'bucket itself':
      return `${bucketWith(subject.id, plan)}.arn`;
    case 'bucket':
      return `"\${${bucketWith(subject.id, plan)}.arn}/*"`;
    case 'table':
      return 'aws_dynamodb_table.jobs.arn';
    case 'index':
      return `"\${aws_dynamodb_table.jobs.arn}/index/shelves"`;
    case 'log': // by its name: a reference would be a circle
      return `"arn:\${data.aws_partition.current.partition}:logs:\${data.aws_region.current.region}:\${data.aws_caller_identity.current.account_id}:log-group:/aws/lambda/\${local.prefix}${name}:*"`;
  }
}

function alarmOf(
  { namespace, metric, statistic, threshold, fires, minutes, of }: AlarmPlan,
  plan: AwsPlan,
): Value {
  const numbers = { threshold, below: fires === 'below', minutes };
  return { namespace, metric, statistic, ...numbers, dimensions: dimensionsOf(of, plan) };
}

function dimensionsOf(of: AlarmPlan['of'], plan: AwsPlan): Value {
  const shared = { TableName: expression('aws_dynamodb_table.jobs.name') };
  switch (of.type) {
    case 'queue':
      return { QueueName: expression(`${queueOf(of.id, plan)}.name`) };
    case 'dead letters':
      return { QueueName: expression(`${lettersOf(of.id, plan)}.name`) };
    case 'function':
      return { FunctionName: expression(`"\${local.prefix}${nameOf(plan.functions, of.id)}"`) };
    case 'table':
      return shared;
    case 'index':
      return { ...shared, GlobalSecondaryIndexName: 'shelves' };
  }
}
