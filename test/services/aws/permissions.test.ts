/** What the roles of the template allow, held against what the functions do. */

import { beforeAll, describe, expect, it } from 'vitest';
import { recordCalls } from './recorded-calls.ts';
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

/** What Lambda itself does with a function's role, for its event sources and its log. */
const byLambda = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];
const always = /^(logs|xray):/;

describe('a role of the template', () => {
  it('allows a function what it does, on resources by name and not by a pattern, and nothing else', async () => {
    expect(Object.keys(template.resources)).not.toContain('IamRoleLambdaExecution'); // the one that osls makes for all
    const nameOf = (id: string) => [...template.functions].find(([, one]) => one.id === id)![0];
    const sources = template.sources.map(({ queue, name, mapping }) => {
      return { queue: queue.QueueName as string, name, calls: nameOf(idOf(mapping.FunctionName)) };
    });
    const calls = await recordCalls(prefix, sources);
    expect([...calls.get('jobs that ended')!].sort()).toEqual([...app.jobs.keys()].sort());
    const idsOf = new Map(
      template.ofType('AWS::SQS::Queue').map(([id, { QueueName }]) => [QueueName as string, id]),
    );
    /** As the roles name it: whether a queue is of the function's own is all that counts for some. */
    const kindOf = (name: string, call: string) => {
      const [action = '', on = ''] = call.split(' ');
      const own = sources.filter((one) => one.calls === name);
      if (own.some(({ queue }) => idsOf.get(queue) === on)) return `${action} its queues`;
      if (own.some((one) => idsOf.get(`${prefix}${one.name}-dlq`) === on))
        return `${action} its dead letters`;
      return call;
    };
    const state = /^dynamodb:/;
    const everywhere = new Set<string>();
    for (const name of template.functions.keys()) {
      const done = [...calls.get(name)!].map((call) => {
        const [action, on = ''] = call.split(' ');
        return `${action} ${idsOf.get(on) ?? on}`;
      });
      for (const call of done) if (state.test(call)) everywhere.add(call);
      const may = allowed(name).filter((call) => !always.test(call));
      // What it did once on one of its queues it may do on each of them.
      const own = sources.filter((one) => one.calls === name);
      for (const { queue, name: of } of own) {
        const [id, letters] = [idsOf.get(queue)!, idsOf.get(`${prefix}${of}-dlq`)!];
        const onIts = may.filter((call) => call.endsWith(` ${id}`)).map((call) => kindOf(name, call));
        const did = [...byLambda.map((action) => `${action} ${id}`), ...done].map((call) =>
          kindOf(name, call),
        );
        expect(onIts.sort(), `${name}, ${queue}`).toEqual(
          [...new Set(did.filter((call) => call.endsWith(' its queues')))].sort(),
        );
        expect(may.filter((call) => call.endsWith(` ${letters}`))).toEqual([`sqs:SendMessage ${letters}`]);
      }
      const isElsewhere = (call: string) => !/ its (queues|dead letters)$/.test(kindOf(name, call));
      // Who may send to a queue may send to its lanes: which one depends on the priority of the job.
      const queueOf = (call: string) => call.replace(/(Critical|High|Low)Queue$/, 'Queue');
      const other = (all: string[]) => {
        const calls = all.filter((call) => isElsewhere(call) && !state.test(call));
        return [...new Set(calls.map(queueOf))].sort();
      };
      expect(other(may), name).toEqual(other(done));
      expect(may, name).toEqual(expect.arrayContaining(done.filter((call) => state.test(call))));
    }
    for (const name of template.functions.keys())
      expect(
        allowed(name)
          .filter((call) => state.test(call))
          .sort(),
        name,
      ).toEqual([...everywhere].sort());
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
