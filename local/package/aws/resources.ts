/** Queues, table and buckets as resources of CloudFormation. */

import { commented, type Data, kind, once } from '../yaml.ts';
import {
  type AwsPlan,
  type DeadLettersPlan,
  deadLettersRetentionS,
  type QueuePlan,
  retentionS,
} from './plan.ts';
import { tableProperties } from './table.ts';

export type Resources = Record<string, { readonly [name: string]: Data }>;

/** How one tool names things. */
export interface Dialect {
  /** Begins every name, as text for `Fn::Sub`: `shop-${Stage}-`. */
  readonly prefix: string;
  named(name: string): Data;
  functionId(id: string): string;
  /** `Retain`, or a parameter. */
  readonly deletionPolicy: string;
}

export const att = (id: string, attribute = 'Arn'): Data => ({ 'Fn::GetAtt': [id, attribute] });
export const ref = (id: string): Data => ({ Ref: id });
export const sub = (text: string): Data => ({ 'Fn::Sub': text });

export function storageResources(plan: AwsPlan, dialect: Dialect): Resources {
  const { deletionPolicy } = dialect;
  // Whatever has messages or state in it outlives its stack, and a change that would replace it.
  const kept = kind('kept', { DeletionPolicy: deletionPolicy, UpdateReplacePolicy: deletionPolicy });
  const queue = kind('queue', { SqsManagedSseEnabled: true, MessageRetentionPeriod: retentionS });
  const letters = kind('deadLetters', {
    SqsManagedSseEnabled: true,
    MessageRetentionPeriod: deadLettersRetentionS,
  });
  const resources: Resources = {};
  for (const one of plan.deadLetters) {
    for (const own of plan.queues.filter(({ deadLetters }) => deadLetters === one.name))
      resources[`${own.id}Queue`] = kept({
        Type: 'AWS::SQS::Queue',
        Properties: queue(queueProperties(own, one, dialect)),
      });
    resources[one.id] = kept({
      Type: 'AWS::SQS::Queue',
      Properties: letters(letterProperties(one, dialect)),
    });
  }
  if (plan.hasTable)
    resources.Table = commented(
      'Keys, records and workers, as dynamoStore() expects them.',
      kept({
        Type: 'AWS::DynamoDB::Table',
        Properties: {
          TableName: dialect.named('jobs'),
          ...tableProperties,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        },
      }),
    );
  for (const { id } of plan.buckets) resources[id] = kept({ Type: 'AWS::S3::Bucket', Properties: closed });
  return resources;
}

function queueProperties(
  { name, fifo, visibilityS, maxReceives }: QueuePlan,
  letters: DeadLettersPlan,
  { named }: Dialect,
) {
  return {
    QueueName: named(name),
    ...(fifo && { FifoQueue: true }),
    VisibilityTimeout: visibilityS,
    RedrivePolicy: { deadLetterTargetArn: att(letters.id), maxReceiveCount: maxReceives },
  };
}

/** Names its queues as the only ones that may put messages there. By their names, because a reference would be a circle. */
const letterProperties = ({ name, fifo, from }: DeadLettersPlan, { named, prefix }: Dialect) => ({
  QueueName: named(name),
  ...(fifo && { FifoQueue: true }),
  RedriveAllowPolicy: {
    redrivePermission: 'byQueue',
    sourceQueueArns: from.map((queue) => sub(`${arnOfQueue}${prefix}${queue}`)),
  },
});

const arnOfQueue = ['arn:$', '{AWS::Partition}:sqs:$', '{AWS::Region}:$', '{AWS::AccountId}:'].join('');

const closed = {
  PublicAccessBlockConfiguration: once('closed', {
    BlockPublicAcls: true,
    BlockPublicPolicy: true,
    IgnorePublicAcls: true,
    RestrictPublicBuckets: true,
  }),
};

/** The schedule function's own group, so that a role can say which schedules may use it. */
export const scheduleGroup = ({ named }: Dialect): Resources => ({
  ScheduleGroup: { Type: 'AWS::Scheduler::ScheduleGroup', Properties: { Name: named('schedules') } },
});
