/** A construct of the AWS CDK in TypeScript: the plan as data, and constructs that are made of it. */

import { kebab } from '../names.ts';
import { type AlarmPlan, alarmsOf } from './alarms.ts';
import {
  type AwsPlan,
  batchSize,
  batchWindowS,
  bucketOf,
  deadLettersRetentionS,
  type FunctionPlan,
  isBucket,
  queueConcurrency,
  retentionS,
} from './plan.ts';
import { grantsOf, type Subject } from './roles.ts';
import { tableProperties } from './table.ts';

export function cdkFiles(plan: AwsPlan): Record<string, string> {
  return { 'longshore-jobs.ts': `${head(plan)}\n${data(plan)}\n${construct(plan)}` };
}

const head = ({ service }: AwsPlan): string => `/**
 * The functions, queues and state of ${service} on AWS, written by \`longshore package aws --template cdk\`. It is yours now. Use it in a stack:
 *
 *     new LongshoreJobs(this, 'Jobs', { stage: 'prod' });
 *
 * The numbers belong together: \`longshore check aws --template cdk.out/<stack>.template.json\` compares them with the app.
 */

${importLines}
`;

const library = [
  'aws_apigatewayv2 as api',
  'aws_cloudwatch as cloudwatch',
  'aws_dynamodb as dynamodb',
  'aws_iam as iam',
  'aws_lambda as lambda',
  'aws_logs as logs',
  'aws_s3 as s3',
  'aws_scheduler as scheduler',
  'aws_sns as sns',
  'aws_sqs as sqs',
  'CfnOutput',
  'Duration',
  'RemovalPolicy',
  'SecretValue',
  'Stack',
];
const importLines = [
  ['aws-cdk-lib', library],
  ['aws-cdk-lib/aws-apigatewayv2-integrations', ['HttpLambdaIntegration']],
  ['aws-cdk-lib/aws-cloudwatch-actions', ['SnsAction']],
  ['constructs', ['Construct']],
]
  .map(
    ([from, names]) =>
      `import {\n${(names as string[]).map((name) => `  ${name},\n`).join('')}} from '${from}';`,
  )
  .join('\n');

/** JSON with the names of TypeScript. */
const literal = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:');

function data(plan: AwsPlan): string {
  const { functions, hasTable } = plan;
  const queues = plan.queues.map(({ lateAfterS, ...one }) => ({
    ...one,
    concurrency: one.concurrency ?? queueConcurrency,
  }));
  const all = functions.map((one) => ({
    ...{
      name: one.name,
      id: one.id,
      handler: `main.${one.kind}`,
      timeoutS: one.timeoutS,
      reserved: one.reserved,
    },
    environment: one.settings.map(([variable, kind]) => settingOf(variable, kind, plan)),
    allow: grantsOf(one, plan).map(({ actions, on }) => ({ actions, on: on.map(keyOf) })),
  }));
  const alarms = alarmsOf(plan).map(({ of, ...alarm }) => ({ ...alarm, of: keyOf(of) }));
  return `interface QueueData { name: string; id: string; deadLetters: string; worker: string; fifo: boolean; visibilityS: number; maxReceives: number; concurrency: number }
interface FunctionData { name: string; id: string; handler: string; timeoutS: number; reserved: number; environment: { variable: string; kind: string; name: string }[]; allow: { actions: string[]; on: string[] }[] }
interface AlarmData { name: string; id: string; namespace: string; metric: string; statistic: string; threshold: number; fires: string; minutes: number; of: string }

const service = ${JSON.stringify(plan.service)};
const queues: QueueData[] = ${literal(queues)};
const deadLetters: { name: string; id: string; fifo: boolean; from: string[] }[] = ${literal(plan.deadLetters)};
const functions: FunctionData[] = ${literal(all)};
const buckets: { id: string; name: string }[] = ${literal(plan.buckets.map(({ id, name }) => ({ id, name })))};
const alarms: AlarmData[] = ${literal(alarms)};
${hasTable ? '' : '// The functions keep their state elsewhere than in DynamoDB.\n'}`;
}

const settingOf = (variable: string, kind: FunctionPlan['settings'][number][1], plan: AwsPlan) => ({
  variable,
  kind: isBucket(kind) ? 'bucket' : kind,
  name: isBucket(kind) ? bucketOf(plan, variable).id : kebab(variable),
});

/** \`queue Mail\`, or \`table\`. */
const keyOf = (subject: Subject | AlarmPlan['of']): string =>
  'id' in subject ? `${subject.type} ${subject.id}` : subject.type;

const [index] = tableProperties.GlobalSecondaryIndexes;

function construct({ hasTable, functions }: AwsPlan): string {
  const kinds = functions.map(({ kind }) => kind);
  return `
export interface LongshoreJobsProps {
  readonly stage: string;
  /** Where the bundle is. */
  readonly code?: string;
  /** By the names of the settings that are no secrets. */
  readonly parameters?: Readonly<Record<string, string>>;
}

export class LongshoreJobs extends Construct {
  readonly queues = new Map<string, sqs.Queue>();
  readonly functions = new Map<string, lambda.Function>();
  readonly alarmTopic: sns.Topic;

  constructor(scope: Construct, id: string, props: LongshoreJobsProps) {
    super(scope, id);
    const { stage, code = 'dist/functions', parameters = {} } = props;
    const { account, region, partition, urlSuffix } = Stack.of(this);
    const prefix = \`\${service}-\${stage}-\`;
    const kept = RemovalPolicy.RETAIN;
    const arns = new Map<string, string>();
    const secret = (name: string) => SecretValue.secretsManager(\`\${service}/\${stage}/\${name}\`).unsafeUnwrap();

    const letters = new Map<string, sqs.Queue>();
    for (const { name, id, fifo, from } of deadLetters) {
      // By their names: a reference would be a circle.
      const sources = from.map((queue) => sqs.Queue.fromQueueArn(this, \`\${id}From\${queue}\`, \`arn:\${partition}:sqs:\${region}:\${account}:\${prefix}\${queue}\`));
      const queue = new sqs.Queue(this, id, {
        queueName: prefix + name,
        ...(fifo ? { fifo } : {}),
        encryption: sqs.QueueEncryption.SQS_MANAGED,
        retentionPeriod: Duration.seconds(${deadLettersRetentionS}),
        removalPolicy: kept,
        redriveAllowPolicy: { redrivePermission: sqs.RedrivePermission.BY_QUEUE, sourceQueues: sources },
      });
      letters.set(name, queue);
      arns.set(\`dead letters \${id}\`, queue.queueArn);
    }
    for (const { name, id, deadLetters: to, fifo, visibilityS, maxReceives } of queues) {
      const queue = new sqs.Queue(this, \`\${id}Queue\`, {
        queueName: prefix + name,
        ...(fifo ? { fifo } : {}),
        encryption: sqs.QueueEncryption.SQS_MANAGED,
        visibilityTimeout: Duration.seconds(visibilityS),
        retentionPeriod: Duration.seconds(${retentionS}),
        removalPolicy: kept,
        deadLetterQueue: { queue: letters.get(to)!, maxReceiveCount: maxReceives },
      });
      this.queues.set(name, queue);
      arns.set(\`queue \${id}\`, queue.queueArn);
    }
${hasTable ? tableText : ''}    const bucketNames = new Map<string, string>();
    for (const { id } of buckets) {
      const bucket = new s3.Bucket(this, id, { blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL, removalPolicy: kept });
      bucketNames.set(id, bucket.bucketName);
      arns.set(\`bucket \${id}\`, bucket.arnForObjects('*'));
      arns.set(\`bucket itself \${id}\`, bucket.bucketArn);
    }

    const common = {
      QUEUE_URL: \`https://sqs.\${region}.\${urlSuffix}/\${account}/\${prefix}\`,
      LONGSHORE_SIGNING_KEYS: secret('signing-keys'),${hasTable ? '\n      TABLE: table.tableName,' : ''}
    };
    const valueOf = ({ variable, kind, name }: FunctionData['environment'][number]): string => {
      if (kind === 'bucket') return bucketNames.get(name)!;
      if (kind === 'secret') return secret(name);
      const given = parameters[variable];
      if (given === undefined) throw new Error(\`Expected \${variable} in parameters, got nothing.\`);
      return given;
    };
    for (const { name, id, handler, timeoutS, reserved, environment, allow } of functions) {
      const logGroup = new logs.LogGroup(this, \`\${id}Log\`, { logGroupName: \`/aws/lambda/\${prefix}\${name}\`, retention: logs.RetentionDays.ONE_MONTH, removalPolicy: RemovalPolicy.DESTROY });
      const role = new iam.Role(this, \`\${id}Role\`, { assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com') });
      const resourceOf = (key: string): string => (key === 'log' ? \`\${logGroup.logGroupArn}\` : arns.get(key)!);
      for (const { actions, on } of allow)
        role.addToPolicy(new iam.PolicyStatement({ actions, resources: on.map(resourceOf) }));
      const made = new lambda.Function(this, \`\${id}Function\`, {
        functionName: prefix + name,
        role: role.withoutPolicyUpdates(), // what it may do is said above
        handler,
        code: lambda.Code.fromAsset(code),
        runtime: lambda.Runtime.NODEJS_24_X,
        architecture: lambda.Architecture.ARM_64,
        memorySize: 512,
        timeout: Duration.seconds(timeoutS),
        reservedConcurrentExecutions: reserved,
        logGroup,
        environment: { ...common, ...Object.fromEntries(environment.map((one) => [one.variable, valueOf(one)])) },
        // A job may enqueue the next one, and that the next: Lambda would stop them after some 16.
        ...(handler === 'main.worker' ? { recursiveLoop: lambda.RecursiveLoop.ALLOW } : {}),
      });
      made.node.addDependency(role);
      this.functions.set(name, made);
    }
    for (const { name, id, worker, fifo, concurrency } of queues)
      new lambda.EventSourceMapping(this, \`\${id}Source\`, {
        target: this.functions.get(worker)!,
        eventSourceArn: this.queues.get(name)!.queueArn,
        batchSize: ${batchSize},
        ...(fifo ? {} : { maxBatchingWindow: Duration.seconds(${batchWindowS}) }),
        reportBatchItemFailures: true,
        maxConcurrency: concurrency,
      });
${kinds.includes('schedule') ? scheduleText : ''}${kinds.includes('enqueue') ? httpText : ''}${alarmsText(hasTable)}  }
}
`;
}

const tableText = `
    // Keys, records and workers, as dynamoStore() expects them.
    const key = (name: string) => ({ name, type: dynamodb.AttributeType.STRING });
    const table = new dynamodb.Table(this, 'Table', {
      tableName: \`\${prefix}jobs\`,
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      partitionKey: key('${tableProperties.KeySchema[0].AttributeName}'),
      timeToLiveAttribute: '${tableProperties.TimeToLiveSpecification.AttributeName}',
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      removalPolicy: kept,
    });
    table.addGlobalSecondaryIndex({
      indexName: '${index.IndexName}',
      partitionKey: key('${index.KeySchema[0].AttributeName}'),
      sortKey: key('${index.KeySchema[1].AttributeName}'),
      projectionType: dynamodb.ProjectionType.INCLUDE,
      nonKeyAttributes: ${JSON.stringify(index.Projection.NonKeyAttributes)},
    });
    arns.set('table', table.tableArn);
    arns.set('index', \`\${table.tableArn}/index/${index.IndexName}\`);

`;

const scheduleText = `
    const group = new scheduler.CfnScheduleGroup(this, 'ScheduleGroup', { name: \`\${prefix}schedules\` });
    const tick = this.functions.get('schedule')!;
    const caller = new iam.Role(this, 'SchedulerRole', {
      assumedBy: new iam.ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': account, 'aws:SourceArn': group.attrArn } },
      }),
    });
    caller.addToPolicy(new iam.PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [tick.functionArn] }));
    new scheduler.CfnSchedule(this, 'Minute', {
      scheduleExpression: 'rate(1 minute)',
      groupName: group.ref,
      flexibleTimeWindow: { mode: 'OFF' },
      target: { arn: tick.functionArn, roleArn: caller.roleArn },
    });
`;

const httpText = `
    const http = new api.HttpApi(this, 'Http', {
      apiName: \`\${prefix}http\`,
      createDefaultStage: false,
      defaultIntegration: new HttpLambdaIntegration('Enqueue', this.functions.get('enqueue')!),
    });
    http.addStage('Stage', { autoDeploy: true, throttle: { rateLimit: 50, burstLimit: 100 } });
    new CfnOutput(this, 'Url', { value: http.apiEndpoint });
`;

const alarmsText = (hasTable: boolean): string => `
    // Subscribe to the topic: until then it notifies no person.
    this.alarmTopic = new sns.Topic(this, 'Alarms', { topicName: \`\${prefix}alarms\` });
    const dimensionsOf = (of: string): Record<string, string> => {
      const [, kind, one] = /^(queue|dead letters|function) (.*)$/.exec(of) ?? [];
      if (kind === 'queue') return { QueueName: prefix + queues.find((queue) => queue.id === one)!.name };
      if (kind === 'dead letters') return { QueueName: prefix + deadLetters.find((queue) => queue.id === one)!.name };
      if (kind === 'function') return { FunctionName: prefix + functions.find((made) => made.id === one)!.name };
      return ${
        hasTable
          ? `{ TableName: table.tableName, ...(of === 'index' ? { GlobalSecondaryIndexName: '${index.IndexName}' } : {}) }`
          : '{}'
      };
    };
    for (const { name, id, namespace, metric, statistic, threshold, fires, minutes, of } of alarms) {
      const { ComparisonOperator: is, TreatMissingData: missing } = cloudwatch;
      const alarm = new cloudwatch.Alarm(this, \`\${id}Alarm\`, {
        alarmName: prefix + name,
        metric: new cloudwatch.Metric({ namespace, metricName: metric, statistic, dimensionsMap: dimensionsOf(of), period: Duration.minutes(1) }),
        comparisonOperator: fires === 'below' ? is.LESS_THAN_THRESHOLD : is.GREATER_THAN_THRESHOLD,
        threshold,
        evaluationPeriods: minutes,
        treatMissingData: fires === 'below' ? missing.BREACHING : missing.NOT_BREACHING,
      });
      alarm.addAlarmAction(new SnsAction(this.alarmTopic));
      alarm.addOkAction(new SnsAction(this.alarmTopic));
    }
`;
