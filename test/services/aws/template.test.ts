/** What would be deployed, held against the app: names, numbers, secrets. */

import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { lanes } from '../../../examples/aws/lanes.ts';
import { dynamoTable } from '../../../functions/aws/index.ts';
import { deploymentChecks } from '../../../local/cli/doctor/deployment.ts';
import { serverlessFiles } from '../../../local/package/aws/serverless.ts';
import { shared } from '../../kit/shared/shared.ts';
import { lookedAt } from '../diagnoses.ts';
import { app, idOf, plan, prefix, type Resource, readTemplate, root, type Template } from './template-kit.ts';

const written = parse(readFileSync(join(root, 'serverless.yml'), 'utf8'), {
  logLevel: 'silent',
  merge: true,
});
let template: Template;
beforeAll(async () => {
  template = await readTemplate();
});

/** As CloudFormation would fill them in. */
function environmentOf({ Environment }: Resource['Properties']): Record<string, string> {
  const filled: Readonly<Record<string, string>> = {
    QUEUE_URL: 'http://127.0.0.1:1/000000000000/x-',
    TABLE: 'x-jobs',
    SHOP_BUCKET: 'files',
    API_KEY: 'x'.repeat(32),
    LONGSHORE_SIGNING_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
  };
  return Object.fromEntries(
    Object.entries(Environment.Variables).map(([name, value]) => [name, filled[name] ?? String(value)]),
  );
}

/** Of a queue whose jobs have so many retries. */
function fewestReceives({ FifoQueue = false }: { FifoQueue?: boolean }, retries: readonly number[]): number {
  // A job is received again each time one before it in its group fails, and would become a dead letter without having run.
  if (FifoQueue) return 1_000;
  // The attempts, one more that is found to be too many, and some deliveries that did not count.
  return Math.max(5, ...retries.map((count) => count + 5));
}

describe('the template of serverless.yml', () => {
  it('is what `longshore package aws` writes for the example', () => {
    for (const [path, text] of Object.entries(serverlessFiles(plan)))
      expect(readFileSync(join(root, path), 'utf8'), 'run npm run package:aws -- --force').toBe(text);
  });

  it('has a queue, its lanes, its dead letters and one event source each for every queue of the app, and no other', () => {
    const besides = Object.entries(lanes).flatMap(([name, more]) => more.map((lane) => `${name}-${lane}`));
    const physical = template.sources.map((source) => source.physical);
    expect(physical.sort()).toEqual([...app.queues, ...besides].sort());
    const names = template
      .ofType('AWS::SQS::Queue')
      .map(([, { QueueName }]) => QueueName.slice(prefix.length) as string);
    expect(names.sort()).toEqual(
      [...app.queues, ...besides, ...app.queues.map((name) => `${name}-dlq`)].sort(),
    );
    for (const { name, deadLetters } of template.sources)
      expect(deadLetters.QueueName).toBe(`${prefix}${name}-dlq`);
  });

  it('lets failures be reported one by one, with a window where a batch is larger than ten', () => {
    for (const { mapping } of template.sources) {
      expect(mapping.FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
      if (mapping.BatchSize > 10) expect(mapping.MaximumBatchingWindowInSeconds).toBeGreaterThanOrEqual(1);
      expect(mapping.ScalingConfig.MaximumConcurrency).toBeGreaterThanOrEqual(2);
    }
  });

  it('hides messages six times as long as their function may run, and the window', () => {
    for (const { queue, timeout, mapping } of template.sources) {
      const least = 6 * timeout + mapping.MaximumBatchingWindowInSeconds;
      expect(queue.VisibilityTimeout).toBeGreaterThanOrEqual(least);
    }
  });

  it('gives every job the time it may take', () => {
    for (const { name, timeout } of template.sources) {
      for (const job of app.jobs.values()) {
        if (job.queue === name) expect(timeout * 1000 - 2_000).toBeGreaterThanOrEqual(job.timeoutMs);
      }
    }
  });

  it('leaves dead letters to Longshore, and keeps them longer than what waits', () => {
    for (const { name, policy, queue, deadLetters } of template.sources) {
      const retries = [...app.jobs.values()].filter((job) => job.queue === name).map((job) => job.maxRetries);
      expect(policy.maxReceiveCount, name).toBeGreaterThanOrEqual(fewestReceives(queue, retries));
      expect(deadLetters.MessageRetentionPeriod).toBe(14 * 86_400);
      expect(queue.MessageRetentionPeriod).toBeLessThan(deadLetters.MessageRetentionPeriod);
    }
  });

  it('takes dead letters from the queues of the app only', () => {
    const byTarget = Map.groupBy(template.sources, ({ deadLetters }) => deadLetters);
    for (const [{ RedriveAllowPolicy }, sources] of byTarget) {
      const start = ['arn:$', '{AWS::Partition}:sqs:$', '{AWS::Region}:$', '{AWS::AccountId}:'].join('');
      expect(RedriveAllowPolicy.redrivePermission).toBe('byQueue');
      expect(RedriveAllowPolicy.sourceQueueArns.toSorted()).toEqual(
        sources.map(({ queue }) => ({ 'Fn::Sub': start + queue.QueueName })).toSorted(),
      );
    }
  });

  it('has an example of a FIFO queue in the docs, whose jobs may wait long behind one that fails', () => {
    const page = readFileSync(join(root, 'docs/aws.md'), 'utf8');
    const block = /```yaml\n(OrdersQueue:.*?)```/s.exec(page)![1]!;
    const { OrdersQueue, OrdersDeadLetters } = parse(block, { logLevel: 'silent' });
    const { FifoQueue, RedrivePolicy, QueueName } = OrdersQueue.Properties;
    expect(FifoQueue).toBe(true);
    expect(RedrivePolicy.maxReceiveCount).toBeGreaterThanOrEqual(fewestReceives(OrdersQueue.Properties, [3]));
    // As sqs() names it, and SQS wants one to be as the other.
    expect(OrdersDeadLetters.Properties).toMatchObject({
      FifoQueue: true,
      QueueName: QueueName.replace('.fifo', '-dlq.fifo'),
    });
  });

  it('runs on Node 24 on arm64, and calls handlers that the bundle has, with what each function is given', () => {
    const main = JSON.stringify(join(root, 'dist/functions/main.mjs'));
    const program = `import(${main}).then((m) => console.log(Object.keys(m).sort().join()))`;
    const { PATH } = process.env;
    for (const [name, made] of template.functions) {
      expect([made.Runtime, made.Architectures]).toEqual(['nodejs24.x', ['arm64']]);
      expect(made.Handler).toBe(`dist/functions/main.${name === 'importer' ? 'worker' : name}`);
      const env = { ...environmentOf(made), PATH };
      const exported = execFileSync(process.execPath, ['-e', program], { env, encoding: 'utf8' });
      expect(exported.trim(), name).toBe('enqueue,schedule,worker');
    }
  });

  it('is packaged with what the bundle cannot hold, for the function that uses it', () => {
    const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
    const { dependencies } = read('dist/functions/package.json');
    const { devDependencies } = read('package.json');
    expect(dependencies).toEqual({ sharp: devDependencies.sharp, pdfkit: devDependencies.pdfkit });
    expect(written.package).toMatchObject({ individually: true, patterns: ['!**', 'dist/functions/**'] });
    for (const [name, { package: own }] of Object.entries<Resource['Properties']>(written.functions)) {
      const without = { patterns: ['!dist/functions/node_modules/**'] };
      expect(own, name).toEqual(name === 'worker' ? undefined : without);
    }
  });

  it('switches source maps on where they are built, and nowhere else', () => {
    const built = readdirSync(join(root, 'dist/functions')).some((name) => name.endsWith('.map'));
    for (const { Environment } of template.functions.values())
      expect(String(Environment.Variables.NODE_OPTIONS).includes('--enable-source-maps')).toBe(built);
  });

  it('lets a function run as often at once as its queues call it together', () => {
    for (const [name, { id, ReservedConcurrentExecutions }] of template.functions) {
      const called = template.sources.filter(({ mapping }) => idOf(mapping.FunctionName) === id);
      const most = called.reduce((sum, { mapping }) => sum + mapping.ScalingConfig.MaximumConcurrency, 0);
      expect(ReservedConcurrentExecutions, name).toBeGreaterThanOrEqual(Math.max(1, most));
    }
  });

  it('ticks every minute and serves HTTP', () => {
    const [[, schedule] = []] = template.ofType('AWS::Scheduler::Schedule');
    expect(schedule).toMatchObject({
      ScheduleExpression: 'cron(* * * * ? *)',
    });
    expect(template.ofType('AWS::ApiGatewayV2::Route')).toHaveLength(1);
  });

  it('limits how often the public API is called, and logs who called it', () => {
    const [[, stage] = []] = template.ofType('AWS::ApiGatewayV2::Stage');
    expect(stage.DefaultRouteSettings).toMatchObject({ ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 });
    const [id] = stage.AccessLogSettings.DestinationArn['Fn::GetAtt'];
    expect(template.resources[id]).toMatchObject({
      Type: 'AWS::Logs::LogGroup',
      Properties: { RetentionInDays: 30 },
    });
    expect(stage.AccessLogSettings.Format).toContain('$context.identity.sourceIp');
  });

  it('keeps messages, state and files when the stack goes, and state as it was at any second of 35 days', () => {
    const ofOsls = 'ServerlessDeploymentBucket'; // the code, which can be made again
    const kept = Object.entries(template.resources).filter(
      ([id, { Type }]) => /^AWS::(SQS::Queue|DynamoDB::Table|S3::Bucket)$/.test(Type) && id !== ofOsls,
    );
    expect(kept.length).toBeGreaterThan(15);
    for (const [id, { DeletionPolicy, UpdateReplacePolicy }] of kept)
      expect([DeletionPolicy, UpdateReplacePolicy], id).toEqual(['Retain', 'Retain']);
    expect(template.resources.Table?.Properties.PointInTimeRecoverySpecification).toEqual({
      PointInTimeRecoveryEnabled: true,
    });
  });

  it('has tags on what costs money, and no tracing before somebody asks for it', () => {
    const tags = [
      { Key: 'service', Value: 'longshore-example' },
      { Key: 'stage', Value: 'dev' },
    ];
    for (const { Tags, TracingConfig } of template.functions.values()) {
      expect(Tags).toEqual(tags);
      expect(TracingConfig).toEqual({ Mode: 'PassThrough' });
    }
  });

  it('makes the table that dynamoStore() expects', () => {
    expect(template.resources.Table?.Properties).toMatchObject(dynamoTable(`${prefix}jobs`));
  });

  it('writes no secret into the template, and gives each function only its own, those of its stage', () => {
    const secrets = [...template.functions].map(([name, { Environment }]) => [
      name,
      Object.entries(Environment.Variables)
        .map(([variable, value]) => [
          variable,
          /^\{\{resolve:secretsmanager:(.*)\}\}$/.exec(String(value))?.[1],
        ])
        .filter(([, secret]) => secret !== undefined),
    ]);
    const of = (name: string) => `longshore-example/dev/${name}`;
    const keys = ['LONGSHORE_SIGNING_KEYS', of('signing-keys')];
    const database = ['SHOP_DATABASE_URL', of('shop-database-url')];
    expect(Object.fromEntries(secrets)).toEqual({
      worker: [keys, database, ['SMTP_URL', of('smtp-url')]],
      importer: [keys, database],
      schedule: [keys],
      enqueue: [keys, ['API_KEY', of('api-key')]],
    });
    const text = JSON.stringify(template.resources);
    expect(text).not.toMatch(/localhost|127\.0\.0\.1|\.example/);
    expect(template.functions.get('worker')!.Environment.Variables).toMatchObject({
      WEBHOOK_URL: 'https://webhookUrl.invalid', // what the maker gives; there is no default
      PAYMENT_URL: 'https://paymentUrl.invalid',
    });
  });

  it('is not made without the addresses that have no default', () => {
    const osls = createRequire(import.meta.url).resolve('osls/bin/serverless.js');
    const { PATH, HOME } = process.env;
    const env = {
      PATH,
      HOME,
      SLS_NOTIFICATIONS_MODE: 'off',
      SLS_TELEMETRY_DISABLED: '1',
      AWS_REGION: 'eu-central-1',
    };
    const print = (...given: string[]) => {
      const command = [osls, 'print', '--stage', 'prod', ...given];
      const { status, stdout, stderr } = spawnSync(process.execPath, command, {
        cwd: root,
        env,
        encoding: 'utf8',
      });
      return { status, text: stdout + stderr };
    };
    const payment = '--param=paymentUrl=https://payments.invalid';
    const refused = print(payment);
    expect(refused.status).toBe(1);
    expect(refused.text).toContain('"functions.worker.environment.WEBHOOK_URL"');
    expect(refused.text).not.toContain('PAYMENT_URL');
    expect(print(payment, '--param=webhookUrl=https://partner.invalid').status).toBe(0);
  });

  it('is deployed by the docs with the secrets and the parameters that it asks for', () => {
    const page = readFileSync(join(root, 'docs/aws.md'), 'utf8');
    const asked = new Set(
      [
        ...JSON.stringify(template.resources).matchAll(/secretsmanager:longshore-example\/dev\/([\w-]+)/g),
      ].map(([, name]) => name),
    );
    const created = [...page.matchAll(/create-secret --name longshore-example\/prod\/([\w-]+)/g)];
    expect(created.map(([, name]) => name).sort()).toEqual([...asked].sort());
    const deployments = [...page.matchAll(/osls deploy .*--stage prod.*/g)].map(([command]) => command);
    expect(deployments.length).toBeGreaterThan(1);
    for (const command of deployments) {
      const given = [...command.matchAll(/--param="(\w+)=/g)].map(([, name]) => name);
      expect(given, command).toEqual(['webhookUrl', 'paymentUrl']);
    }
  });

  it('has lanes where jobs of a queue differ in priority, and nowhere else', () => {
    for (const queue of app.queues) {
      const jobs = [...app.jobs.values()].filter((job) => job.queue === queue);
      const differ = new Set(jobs.map(({ priority }) => priority)).size > 1;
      expect(Object.hasOwn(lanes, queue), queue).toBe(differ);
    }
  });
});

describe('longshore doctor', () => {
  it('finds nothing in it', async () => {
    const { folder } = await shared('aws');
    const file = join(folder, 'cloudformation-template-update-stack.json');
    const diagnose = async () => deploymentChecks(app, folder, file);
    expect(await lookedAt({ diagnose })).toEqual({ found: {}, notChecked: {} });
  });
});
