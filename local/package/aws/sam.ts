/** A template of AWS SAM, in one file. */

import { camel, kebab } from '../names.ts';
import { type Data, yaml } from '../yaml.ts';
import { alarmResources } from './alarm-resources.ts';
import {
  type AwsPlan,
  batchSize,
  batchWindowS,
  bucketOf,
  type FunctionPlan,
  isBucket,
  queueConcurrency,
  variablesOf,
} from './plan.ts';
import { att, type Dialect, type Resources, ref, scheduleGroup, storageResources, sub } from './resources.ts';
import { roleResources } from './roles.ts';

const stage = ['$', '{Stage}'].join('');
const pseudo = (name: string): string => ['$', `{AWS::${name}}`].join('');

const dialectOf = ({ service }: AwsPlan): Dialect => {
  const prefix = `${service}-${stage}-`;
  return {
    prefix,
    named: (name) => sub(prefix + name),
    functionId: (id) => `${id}Function`,
    deletionPolicy: 'Retain',
  };
};

export function samFiles(plan: AwsPlan): Record<string, string> {
  const header = `# The functions, queues and state of ${plan.service} on AWS, written by \`longshore package aws --template sam\`. It is yours now.
# \`sam deploy --guided --capabilities CAPABILITY_IAM\` deploys it. \`longshore check aws --template template.yaml\` compares it with the app.
`;
  return { 'template.yaml': header + yaml(sam(plan), { anchors: false }) };
}

function sam(plan: AwsPlan): { readonly [name: string]: Data } {
  const dialect = dialectOf(plan);
  const kinds = plan.functions.map(({ kind }) => kind);
  return {
    AWSTemplateFormatVersion: '2010-09-09',
    Transform: 'AWS::Serverless-2016-10-31',
    Parameters: parameters(plan),
    Globals: {
      Function: {
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        MemorySize: 512,
        CodeUri: 'dist/functions',
        Environment: { Variables: variablesOfAll(plan, dialect) },
      },
    },
    Resources: {
      ...Object.fromEntries(plan.functions.flatMap((one) => functionResources(one, plan, dialect))),
      ...(kinds.includes('enqueue') && httpApi),
      ...storageResources(plan, dialect),
      ...(kinds.includes('schedule') && scheduleGroup(dialect)),
      ...roleResources(plan, dialect),
      ...alarmResources(plan, dialect),
    },
    ...(kinds.includes('enqueue') && {
      Outputs: {
        Url: {
          Value: sub(
            `https://${['$', '{HttpApi}'].join('')}.execute-api.${pseudo('Region')}.${pseudo('URLSuffix')}`,
          ),
        },
      },
    }),
  };
}

function parameters({ functions }: AwsPlan) {
  const number = (value: number) => ({ Type: 'Number', Default: value });
  const asked = variablesOf(functions, (kind) => kind === 'parameter');
  return {
    Stage: { Type: 'String', Default: 'dev' },
    QueueConcurrency: number(queueConcurrency),
    ...Object.fromEntries(functions.map(({ id, reserved }) => [`${id}Concurrency`, number(reserved)])),
    ...Object.fromEntries(asked.map((name) => [parameterOf(name), { Type: 'String' }])),
  };
}

const parameterOf = (variable: string): string =>
  camel(variable).replace(/^./, (first) => first.toUpperCase());

const secret = ({ service }: AwsPlan, name: string): Data =>
  sub(`{{resolve:secretsmanager:${service}/${stage}/${name}}}`);

function variablesOfAll(plan: AwsPlan, { prefix }: Dialect) {
  return {
    QUEUE_URL: sub(`https://sqs.${pseudo('Region')}.${pseudo('URLSuffix')}/${pseudo('AccountId')}/${prefix}`),
    ...(plan.hasTable && { TABLE: ref('Table') }),
    LONGSHORE_SIGNING_KEYS: secret(plan, 'signing-keys'),
  };
}

function functionResources(
  one: FunctionPlan,
  plan: AwsPlan,
  dialect: Dialect,
): [string, Resources[string]][] {
  const { name, id, kind, timeoutS, settings } = one;
  const variables = settings.map(([variable, of]): [string, Data] => {
    if (isBucket(of)) return [variable, ref(bucketOf(plan, variable).id)];
    return [variable, of === 'secret' ? secret(plan, kebab(variable)) : ref(parameterOf(variable))];
  });
  const properties = {
    FunctionName: dialect.named(name),
    Handler: `main.${kind}`,
    Role: att(`${id}Role`),
    Timeout: timeoutS,
    ReservedConcurrentExecutions: ref(`${id}Concurrency`),
    // A job may enqueue the next one, and that the next: Lambda would stop them after some 16.
    ...(kind === 'worker' && { RecursiveLoop: 'Allow' }),
    LoggingConfig: { LogGroup: ref(`${id}LogGroup`) },
    ...(variables.length > 0 && { Environment: { Variables: Object.fromEntries(variables) } }),
    Events: eventsOf(one, plan),
  };
  const log = { LogGroupName: sub(`/aws/lambda/${dialect.prefix}${name}`), RetentionInDays: 30 };
  return [
    [`${id}Function`, { Type: 'AWS::Serverless::Function', Properties: properties }],
    [`${id}LogGroup`, { Type: 'AWS::Logs::LogGroup', Properties: log }],
  ];
}

function eventsOf({ kind, takes }: FunctionPlan, { queues }: AwsPlan): { readonly [name: string]: Data } {
  if (kind === 'enqueue') return { Http: { Type: 'HttpApi', Properties: { ApiId: ref('HttpApi') } } };
  if (kind === 'schedule')
    return {
      Minute: {
        Type: 'ScheduleV2',
        Properties: {
          ScheduleExpression: 'rate(1 minute)',
          GroupName: ref('ScheduleGroup'),
          RoleArn: att('SchedulerRole'),
        },
      },
    };
  const own = queues.filter(({ id }) => takes.includes(id));
  return Object.fromEntries(
    own.map(({ id, fifo, concurrency }) => {
      const source = {
        Queue: att(`${id}Queue`),
        BatchSize: batchSize,
        ...(!fifo && { MaximumBatchingWindowInSeconds: batchWindowS }),
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ScalingConfig: { MaximumConcurrency: concurrency ?? ref('QueueConcurrency') },
      };
      return [id, { Type: 'SQS', Properties: source }];
    }),
  );
}

const httpApi: Resources = {
  HttpApi: {
    Type: 'AWS::Serverless::HttpApi',
    Properties: { DefaultRouteSettings: { ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 } },
  },
};
