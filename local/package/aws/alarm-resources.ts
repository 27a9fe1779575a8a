/** The alarms as resources of CloudFormation. */

import { type Data, kind } from '../yaml.ts';
import { type AlarmPlan, alarmsOf } from './alarms.ts';
import type { AwsPlan } from './plan.ts';
import { att, type Dialect, type Resources, ref } from './resources.ts';

export function alarmResources(plan: AwsPlan, dialect: Dialect): Resources {
  const alarm = kind('alarm', {
    ComparisonOperator: 'GreaterThanThreshold',
    Threshold: 0,
    Period: 60,
    EvaluationPeriods: 1,
    TreatMissingData: 'notBreaching',
    AlarmActions: [ref('AlarmTopic')],
    OKActions: [ref('AlarmTopic')],
  });
  const resources: Resources = {
    AlarmTopic: { Type: 'AWS::SNS::Topic', Properties: { TopicName: dialect.named('alarms') } },
  };
  for (const one of alarmsOf(plan))
    resources[`${one.id}Alarm`] = {
      Type: 'AWS::CloudWatch::Alarm',
      Properties: alarm(alarmProperties(one, dialect)),
    };
  return resources;
}

function alarmProperties(alarm: AlarmPlan, dialect: Dialect) {
  const { namespace, metric, statistic, fires, threshold, minutes } = alarm;
  return {
    AlarmName: dialect.named(alarm.name),
    Namespace: namespace,
    MetricName: metric,
    Statistic: statistic,
    Dimensions: dimensionsOf(alarm, dialect),
    ...(fires === 'below' && { ComparisonOperator: 'LessThanThreshold', TreatMissingData: 'breaching' }),
    Threshold: threshold,
    EvaluationPeriods: minutes,
  };
}

function dimensionsOf({ of }: AlarmPlan, { functionId }: Dialect): Data {
  if (of.type === 'queue') return [{ Name: 'QueueName', Value: att(`${of.id}Queue`, 'QueueName') }];
  if (of.type === 'dead letters') return [{ Name: 'QueueName', Value: att(of.id, 'QueueName') }];
  if (of.type === 'function') return [{ Name: 'FunctionName', Value: ref(functionId(of.id)) }];
  const table = { Name: 'TableName', Value: ref('Table') };
  return of.type === 'table' ? [table] : [table, { Name: 'GlobalSecondaryIndexName', Value: 'shelves' }];
}
