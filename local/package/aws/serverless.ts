/** A serverless.yml for osls, the open fork of Serverless Framework 3, with its alarms and roles in files beside it. */

import { camel, kebab } from '../names.ts';
import { commented, type Data, kind, once, yaml } from '../yaml.ts';
import { alarmResources } from './alarm-resources.ts';
import {
  type AwsPlan,
  batchSize,
  batchWindowS,
  bucketOf,
  type FunctionPlan,
  isBucket,
  queueConcurrency,
} from './plan.ts';
import { att, type Dialect, ref, scheduleGroup, storageResources, sub } from './resources.ts';
import { roleResources } from './roles.ts';

/** A variable of osls. */
const variable = (text: string): string => ['$', `{${text}}`].join('');

const dialect: Dialect = {
  prefix: variable('self:custom.prefix'),
  named: (name) => variable('self:custom.prefix') + name,
  functionId: (id) => `${id}LambdaFunction`,
  deletionPolicy: variable('param:deletionPolicy'),
};

const header = (
  plan: AwsPlan,
): string => `# The functions, queues and state of ${plan.service} on AWS, written by \`longshore package aws\`. It is yours now: change what you like.
# \`npx osls deploy --stage prod\` deploys it; docs/aws.md of Longshore has the steps.
#
# These numbers belong together, and \`longshore check aws\` compares them with the app:
# - a queue hides a message six times as long as its function may run, plus the batching window;
# - Longshore moves a dead job itself, with its reason, so SQS may not do it before: maxReceiveCount is above every
#   job's retries, and only a message that nothing can be done with reaches it;
# - dead letters are kept longer than messages wait;
# - a function may run as often at once as its queues call it together.
`;

/** By path. */
export function serverlessFiles(plan: AwsPlan): Record<string, string> {
  const roles = { Resources: roleResources(plan, dialect) };
  const alarms = { Resources: alarmResources(plan, dialect) };
  return {
    'serverless.yml': `${header(plan)}${yaml(serverless(plan), { anchors: true })}`,
    'serverless/roles.yml': `# A role per function, included by serverless.yml. Every resource is named in full.\n${yaml(roles, { anchors: true })}`,
    'serverless/alarms.yml': `# CloudWatch alarms, included by serverless.yml. Subscribe to the topic: until then it notifies no person.\n${yaml(alarms, { anchors: true })}`,
  };
}

function serverless(plan: AwsPlan): { readonly [name: string]: Data } {
  const tags = once('tags', { service: variable('self:service'), stage: variable('sls:stage') });
  const hasHttp = plan.functions.some(({ kind }) => kind === 'enqueue');
  const hasSchedule = plan.functions.some(({ kind }) => kind === 'schedule');
  const storage = storageResources(plan, dialect);
  return {
    service: plan.service,
    frameworkVersion: '^4.3.1',
    configValidationMode: 'error',
    params: { default: parameters(plan) },
    provider: {
      name: 'aws',
      runtime: 'nodejs24.x',
      architecture: 'arm64',
      region: 'eu-central-1',
      stage: variable("opt:stage, 'dev'"),
      memorySize: 512,
      logRetentionInDays: 30,
      deploymentMethod: 'direct',
      tags,
      stackTags: tags,
      tracing: { lambda: variable('param:tracing') },
      ...(hasHttp && { logs: { httpApi: true } }),
      environment: {
        QUEUE_URL: sub(
          `https://sqs.${variable('AWS::Region')}.${variable('AWS::URLSuffix')}/${variable('AWS::AccountId')}/${dialect.prefix}`,
        ),
        ...(plan.hasTable && { TABLE: ref('Table') }),
        LONGSHORE_SIGNING_KEYS: secret('signing-keys'),
      },
    },
    custom: {
      prefix: `${variable('self:service')}-${variable('sls:stage')}-`,
      secrets: `${variable('self:service')}/${variable('sls:stage')}`,
    },
    package: {
      individually: true,
      excludeDevDependencies: false,
      patterns: ['!**', 'dist/functions/**'],
    },
    functions: functionsOf(plan),
    resources: [
      variable('file(serverless/alarms.yml)'),
      variable('file(serverless/roles.yml)'),
      { Resources: { ...storage, ...(hasSchedule && scheduleGroup(dialect)) }, extensions: extensions(plan) },
    ],
  };
}

const secret = (name: string): string =>
  `{{resolve:secretsmanager:${variable('self:custom.secrets')}/${name}}}`;

function parameters({ functions }: AwsPlan) {
  const hasHttp = functions.some(({ kind }) => kind === 'enqueue');
  return {
    queueConcurrency, // functions side by side for one queue
    ...Object.fromEntries(functions.map(({ name, reserved }) => [`${name}Concurrency`, reserved])),
    ...(hasHttp && { requestsPerSecond: 50, requestsAtOnce: 100 }),
    tracing: 'PassThrough',
    deletionPolicy: 'Retain',
  };
}

function functionsOf(plan: AwsPlan) {
  const source = kind('source', {
    batchSize,
    maximumBatchingWindow: batchWindowS,
    functionResponseType: 'ReportBatchItemFailures',
    maximumConcurrency: variable('param:queueConcurrency'),
  });
  const fifoSource = kind('fifoSource', {
    batchSize,
    functionResponseType: 'ReportBatchItemFailures',
    maximumConcurrency: variable('param:queueConcurrency'),
  });
  const bundleOnly = once('bundleOnly', { patterns: ['!dist/functions/node_modules/**'] });
  const eventsOf = ({ kind: of, takes }: FunctionPlan): Data[] => {
    if (of === 'schedule') return [{ schedule: minute }];
    if (of === 'enqueue') return [{ httpApi: '*' }];
    return plan.queues
      .filter(({ id }) => takes.includes(id))
      .map(({ id, fifo, concurrency }) => {
        const own = {
          arn: att(`${id}Queue`),
          ...(concurrency !== null && { maximumConcurrency: concurrency }),
        };
        return { sqs: (fifo ? fifoSource : source)(own) };
      });
  };
  const all = plan.functions.map((one) => {
    const { name, id, kind: of, timeoutS, settings, usesInstalled } = one;
    const own = {
      handler: `dist/functions/main.${of}`,
      role: `${id}Role`,
      ...(plan.installed.length > 0 && !usesInstalled && { package: bundleOnly }),
      timeout: timeoutS,
      reservedConcurrency: variable(`param:${name}Concurrency`),
      ...(settings.length > 0 && { environment: environmentOf(one, plan) }),
      events: eventsOf(one),
    };
    return [name, own] as const;
  });
  return Object.fromEntries(all);
}

const minute = {
  method: 'scheduler',
  rate: 'cron(* * * * ? *)',
  groupName: ref('ScheduleGroup'),
  roleArn: att('SchedulerRole'),
};

function environmentOf({ settings }: FunctionPlan, plan: AwsPlan) {
  return Object.fromEntries(
    settings.map(([name, kind]): [string, Data] => {
      if (isBucket(kind)) return [name, ref(bucketOf(plan, name).id)];
      return [name, kind === 'secret' ? secret(kebab(name)) : variable(`param:${camel(name)}`)];
    }),
  );
}

function extensions({ functions }: AwsPlan) {
  const loops = functions.flatMap(({ kind, id }) =>
    kind === 'worker' ? [[dialect.functionId(id), { Properties: { RecursiveLoop: 'Allow' } }] as const] : [],
  );
  const stage = {
    HttpApiStage: {
      Properties: {
        DefaultRouteSettings: {
          DetailedMetricsEnabled: false,
          ThrottlingRateLimit: variable('param:requestsPerSecond'),
          ThrottlingBurstLimit: variable('param:requestsAtOnce'),
        },
      },
    },
  };
  const hasHttp = functions.some(({ kind }) => kind === 'enqueue');
  return commented(
    'A job may enqueue the next one, and that the next: Lambda would stop them after some 16.',
    {
      ...Object.fromEntries(loops),
      ...(hasHttp && stage),
    },
  );
}
