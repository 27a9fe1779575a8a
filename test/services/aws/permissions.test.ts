/** What the roles of the template allow, held against what the functions do. */

import { beforeAll, describe, expect, it } from 'vitest';
import { app, idOf, prefix, readTemplate, type Template } from './template-kit.ts';

let template: Template;
beforeAll(async () => {
  template = await readTemplate();
});

interface Statement {
  readonly Action: readonly string[];
  readonly Resource: readonly unknown[];
}

/** What a function may do: `sqs:SendMessage DefaultQueue`. */
function allowed(name: string): string[] {
  const { Role } = template.functions.get(name)!;
  const { Policies } = template.resourceOf(Role);
  const statements: Statement[] = Policies.flatMap(
    (policy: { PolicyDocument: { Statement: Statement[] } }) => policy.PolicyDocument.Statement,
  );
  return statements.flatMap(({ Action, Resource }) =>
    Action.flatMap((action) => Resource.map((resource) => `${action} ${idOf(resource)}`)),
  );
}

/** Queues of SQS by id, for some of the app's queues: with their lanes, or their dead letters. */
function queueIds(names: readonly string[], kind: 'work' | 'dead letters'): string[] {
  return [
    ...new Set(
      template.sources
        .filter(({ name }) => names.includes(name))
        .map(({ mapping, policy }) =>
          idOf(kind === 'work' ? mapping.EventSourceArn : policy.deadLetterTargetArn),
        ),
    ),
  ];
}

const queuesOf = (name: string): string[] => [
  ...new Set(
    template.sources
      .filter(({ mapping }) => idOf(mapping.FunctionName) === template.functions.get(name)!.id)
      .map((source) => source.name),
  ),
];

const each = (actions: readonly string[], ids: readonly string[]): string[] =>
  actions.flatMap((action) => ids.map((id) => `${action} ${id}`));

describe('a role of the template', () => {
  it('allows a function what it does, on resources by name and not by a pattern, and nothing else', () => {
    expect(Object.keys(template.resources)).not.toContain('IamRoleLambdaExecution'); // the one that osls makes for all
    const run = ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'ChangeMessageVisibility'];
    const state = ['GetItem', 'BatchGetItem', 'PutItem', 'DeleteItem'].map(
      (name) => `dynamodb:${name} Table`,
    );
    const trace = ['xray:PutTraceSegments *', 'xray:PutTelemetryRecords *'];
    const log = (name: string) => each(['logs:CreateLogStream', 'logs:PutLogEvents'], [`${name}LogGroup`]);
    const works = (name: string) => [
      ...state,
      ...each(['s3:GetObject', 's3:PutObject'], ['Files/*']),
      ...each(
        [...run, 'SendMessage'].map((verb) => `sqs:${verb}`),
        queueIds(queuesOf(name), 'work'),
      ),
      ...each(['sqs:SendMessage'], queueIds(queuesOf(name), 'dead letters')),
    ];
    const scheduled = app.schedules.map(({ job }) => job.queue);
    const wanted: Readonly<Record<string, string[]>> = {
      worker: [...log('Worker'), ...trace, ...works('worker')],
      importer: [...log('Importer'), ...trace, ...works('importer')],
      schedule: [
        ...log('Schedule'),
        ...trace,
        ...state,
        'dynamodb:Query Table/index/shelves', // it rolls up numbers
        ...each(['sqs:SendMessage'], queueIds(scheduled, 'work')),
      ],
      enqueue: [
        ...log('Enqueue'),
        ...trace,
        ...state,
        ...each(['sqs:SendMessage'], queueIds(app.queues, 'work')),
      ],
    };
    expect([...template.functions.keys()].sort()).toEqual(Object.keys(wanted).sort());
    for (const [name, actions] of Object.entries(wanted))
      expect(allowed(name).sort(), name).toEqual(actions.sort());
  });

  it('is taken by EventBridge for one function, and for schedules of this stage and account only', () => {
    const [[, { Target, GroupName }] = {} as never] = template.ofType('AWS::Scheduler::Schedule');
    const { AssumeRolePolicyDocument, Policies } = template.resourceOf(Target.RoleArn);
    const [trust] = AssumeRolePolicyDocument.Statement;
    expect(trust.Principal).toEqual({ Service: ['scheduler.amazonaws.com'] });
    expect(trust.Condition.StringEquals).toEqual({
      'aws:SourceAccount': { Ref: 'AWS::AccountId' },
      'aws:SourceArn': { 'Fn::GetAtt': [GroupName.Ref, 'Arn'] },
    });
    expect(template.resources[GroupName.Ref]).toMatchObject({
      Type: 'AWS::Scheduler::ScheduleGroup',
      Properties: { Name: `${prefix}schedules` },
    });
    const [statement] = Policies[0].PolicyDocument.Statement;
    expect(statement.Action).toEqual(['lambda:InvokeFunction']);
    expect(statement.Resource).toEqual([{ 'Fn::GetAtt': ['ScheduleLambdaFunction', 'Arn'] }]);
    for (const { Role } of template.functions.values()) {
      const services = template
        .resourceOf(Role)
        .AssumeRolePolicyDocument.Statement.map(
          (one: { Principal: { Service: string[] } }) => one.Principal.Service,
        );
      expect(services).toEqual([['lambda.amazonaws.com']]);
    }
  });
});
