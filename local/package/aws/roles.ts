/** A role per function. Every resource is named in full: a pattern like `…-dev-*` would also match a stage `dev-2`. */

import type { Setting } from '../options.ts';
import { commented, type Data, once } from '../yaml.ts';
import { type AwsPlan, bucketOf, type FunctionPlan, isBucket } from './plan.ts';
import { att, type Dialect, type Resources, ref, sub } from './resources.ts';

interface Grant {
  readonly actions: readonly string[];
  readonly on: readonly Subject[];
}

export type Subject =
  | { readonly type: 'queue' | 'bucket' | 'bucket itself' | 'dead letters'; readonly id: string }
  | { readonly type: 'table' | 'index' | 'log' };

/** For Lambda itself, and for putting messages back. */
export const runs = once('run', [
  'sqs:ReceiveMessage',
  'sqs:DeleteMessage',
  'sqs:GetQueueAttributes',
  'sqs:ChangeMessageVisibility',
  'sqs:SendMessage',
]);
export const sends = ['sqs:SendMessage'];
const logs = once('log', ['logs:CreateLogStream', 'logs:PutLogEvents']);
const items = once('items', [
  'dynamodb:GetItem',
  'dynamodb:BatchGetItem',
  'dynamodb:PutItem',
  'dynamodb:DeleteItem',
]);

const objectActions: Readonly<Partial<Record<Setting, readonly string[]>>> = {
  bucket: ['s3:GetObject', 's3:PutObject'],
  'bucket to read': ['s3:GetObject'],
  payloads: ['s3:GetObject', 's3:PutObject', 's3:DeleteObject'],
};

/** All that a function may do. The page docs/aws.md has the same table. */
export function grantsOf({ takes, sends: sendsTo, settings }: FunctionPlan, plan: AwsPlan): Grant[] {
  const queues = (ids: readonly string[]): Subject[] => ids.map((id) => ({ type: 'queue', id }));
  const own = plan.queues.filter(({ id }) => takes.includes(id));
  const letters = plan.deadLetters.filter(({ name }) => own.some(({ deadLetters }) => deadLetters === name));
  const buckets = settings.filter(([, kind]) => isBucket(kind));
  const all: Grant[] = [
    { actions: logs, on: [{ type: 'log' }] },
    ...(plan.hasTable
      ? [
          { actions: items, on: [{ type: 'table' as const }] },
          { actions: ['dynamodb:Query'], on: [{ type: 'index' as const }] },
        ]
      : []),
    ...buckets.flatMap(([variable, kind]): Grant[] => {
      const { id } = bucketOf(plan, variable);
      const objects: Grant = { actions: objectActions[kind]!, on: [{ type: 'bucket', id }] };
      // Without it a missing payload looks like a forbidden one.
      const list: Grant = { actions: ['s3:ListBucket'], on: [{ type: 'bucket itself', id }] };
      return kind === 'payloads' ? [objects, list] : [objects];
    }),
    { actions: runs, on: queues(takes) },
    { actions: sends, on: letters.map(({ id }) => ({ type: 'dead letters', id })) },
    { actions: sends, on: queues(sendsTo) },
  ];
  return all.filter(({ on }) => on.length > 0);
}

const version = { Version: '2012-10-17' };

export function roleResources(plan: AwsPlan, dialect: Dialect): Resources {
  const lambda = once('lambda', {
    ...version,
    Statement: [
      { Effect: 'Allow', Action: ['sts:AssumeRole'], Principal: { Service: ['lambda.amazonaws.com'] } },
    ],
  });
  const trace = once('trace', {
    Effect: 'Allow',
    Action: ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'],
    Resource: ['*'],
  });
  const resources: Resources = {};
  for (const one of plan.functions) {
    const statements = grantsOf(one, plan).map(({ actions: granted, on }) => ({
      Effect: 'Allow',
      Action: granted,
      Resource: on.map((subject) => arnOf(subject, one)),
    }));
    resources[`${one.id}Role`] = {
      Type: 'AWS::IAM::Role',
      Properties: {
        AssumeRolePolicyDocument: lambda,
        Policies: [
          { PolicyName: one.name, PolicyDocument: { ...version, Statement: [...statements, trace] } },
        ],
      },
    };
  }
  if (plan.functions.some(({ kind }) => kind === 'schedule'))
    resources.SchedulerRole = schedulerRole(dialect);
  return resources;
}

function arnOf(subject: Subject, { id }: FunctionPlan): Data {
  if (subject.type === 'queue') return att(`${subject.id}Queue`);
  if (subject.type === 'dead letters') return att(subject.id);
  if (subject.type === 'bucket itself') return att(subject.id);
  if (subject.type === 'bucket') return sub(['$', `{${subject.id}.Arn}/*`].join(''));
  if (subject.type === 'table') return att('Table');
  if (subject.type === 'index') return sub(['$', '{Table.Arn}/index/shelves'].join(''));
  return att(`${id}LogGroup`);
}

/** EventBridge Scheduler takes it to call the schedule function alone, and for schedules of this stage alone. */
const schedulerRole = ({ functionId }: Dialect) =>
  commented(
    'EventBridge Scheduler may call only the schedule function, and only for schedules of this stage.',
    {
      Type: 'AWS::IAM::Role',
      Properties: {
        AssumeRolePolicyDocument: {
          ...version,
          Statement: [
            {
              Effect: 'Allow',
              Action: ['sts:AssumeRole'],
              Principal: { Service: ['scheduler.amazonaws.com'] },
              Condition: {
                StringEquals: {
                  'aws:SourceAccount': ref('AWS::AccountId'),
                  'aws:SourceArn': att('ScheduleGroup'),
                },
              },
            },
          ],
        },
        Policies: [
          {
            PolicyName: 'schedule',
            PolicyDocument: {
              ...version,
              Statement: [
                {
                  Effect: 'Allow',
                  Action: ['lambda:InvokeFunction'],
                  Resource: [att(functionId('Schedule'))],
                },
              ],
            },
          },
        ],
      },
    },
  );
