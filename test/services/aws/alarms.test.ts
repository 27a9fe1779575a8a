/** The alarms of the template, held against the app: none is missing, and none goes off for nothing. */

import { beforeAll, describe, expect, it } from 'vitest';
import { lanes } from '../../../examples/aws/lanes.ts';
import { app, prefix, readTemplate, type Template } from './template-kit.ts';

let template: Template;
beforeAll(async () => {
  template = await readTemplate();
});

describe('the alarms', () => {
  const alarms = () => template.ofType('AWS::CloudWatch::Alarm').map(([, properties]) => properties);
  /** By the name of what is watched, as the template makes it. */
  const watched = (namespace: string, metric: string) =>
    new Map(
      alarms()
        .filter(({ Namespace, MetricName }) => Namespace === namespace && MetricName === metric)
        .map((alarm) => {
          const [{ Name, Value }] = alarm.Dimensions;
          expect(Name).toBe(namespace === 'AWS/SQS' ? 'QueueName' : 'FunctionName');
          const { Ref: ref, 'Fn::GetAtt': att } = Value;
          const { QueueName, FunctionName } = template.resources[ref ?? att[0]]!.Properties;
          if (att) expect(att[1]).toBe('QueueName');
          return [(QueueName ?? FunctionName).slice(prefix.length) as string, alarm];
        }),
    );
  const functionNames = () =>
    template
      .ofType('AWS::Lambda::Function')
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

  it('go off when Lambda drops the messages of a function that jobs call', () => {
    const found = watched('AWS/Lambda', 'RecursiveInvocationsDropped');
    const called = new Set(template.sources.map(({ mapping }) => mapping.FunctionName['Fn::GetAtt'][0]));
    const names = [...called].map((id) =>
      template.resources[id]!.Properties.FunctionName.slice(prefix.length),
    );
    expect([...found.keys()].sort()).toEqual(names.sort());
    for (const { Statistic, Threshold } of found.values()) expect([Statistic, Threshold]).toEqual(['Sum', 0]);
  });

  it('go off when the table or its index refuses requests', () => {
    const found = alarms().filter(({ Namespace }) => Namespace === 'AWS/DynamoDB');
    const table = { Name: 'TableName', Value: { Ref: 'Table' } };
    const [{ IndexName }] = template.resources.Table!.Properties.GlobalSecondaryIndexes;
    expect(found.map(({ MetricName, Dimensions }) => [MetricName, Dimensions])).toEqual([
      ['ReadThrottleEvents', [table]],
      ['WriteThrottleEvents', [table]],
      ['WriteThrottleEvents', [table, { Name: 'GlobalSecondaryIndexName', Value: IndexName }]],
    ]);
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
    expect(template.resources.AlarmTopic).toMatchObject({
      Type: 'AWS::SNS::Topic',
      Properties: { TopicName: `${prefix}alarms` },
    });
    for (const { AlarmActions, OKActions } of alarms()) {
      expect([AlarmActions, OKActions]).toEqual([[{ Ref: 'AlarmTopic' }], [{ Ref: 'AlarmTopic' }]]);
    }
    const names = alarms().map(({ AlarmName }) => AlarmName);
    expect(new Set(names).size).toBe(names.length);
    const besides = Object.values(lanes).flat().length;
    expect(names.length).toBe(2 * app.queues.length + besides + 2 * functionNames().length + 1 + 2 + 3);
  });
});
