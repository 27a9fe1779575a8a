/** A local run never reaches AWS itself, whatever has decided where a request goes. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDynamoTable, dynamoStore, s3Payloads, sqs } from '../../../functions/aws/index.ts';
import { refusalOf } from '../../../functions/aws/sdk-client.ts';

const real = 'sqs.eu-central-1.amazonaws.com';

describe('a request to AWS', () => {
  it.each([
    [{}],
    [{ NODE_ENV: 'test' }],
    [{ NODE_ENV: 'development' }],
    [{ CI: 'true' }],
    [{ CI: '1', NODE_ENV: 'production' }],
    [{ CI: 'true', AWS_EXECUTION_ENV: 'AWS_ECS_FARGATE' }],
    [{ NODE_ENV: 'test', KUBERNETES_SERVICE_HOST: '10.0.0.1' }],
    [{ LONGSHORE_ALLOW_AWS: '0' }],
    [{ AWS_LAMBDA_FUNCTION_NAME: 'worker', AWS_SAM_LOCAL: 'true' }],
  ])('is refused where it is local: %o', (env) => {
    expect(refusalOf(real, env)).toMatch(/Expected an endpoint on this machine/);
  });

  it.each([
    [{ NODE_ENV: 'production' }],
    [{ NODE_ENV: 'staging' }],
    [{ NODE_ENV: 'production', CI: 'false' }],
    [{ AWS_EXECUTION_ENV: 'AWS_ECS_FARGATE' }],
    [{ AWS_WEB_IDENTITY_TOKEN_FILE: '/var/run/token' }],
    [{ KUBERNETES_SERVICE_HOST: '10.0.0.1' }],
    [{ AWS_LAMBDA_FUNCTION_NAME: 'worker', AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' }],
    [{ AWS_LAMBDA_FUNCTION_NAME: 'worker', NODE_ENV: 'development' }],
    [{ LONGSHORE_ALLOW_AWS: '1', CI: 'true', NODE_ENV: 'test' }],
  ])('leaves without ceremony in production, or where it was asked for: %o', (env) => {
    expect(refusalOf(real, env)).toBeNull();
  });

  it.each([
    'my-bucket.s3.eu-central-1.amazonaws.com',
    'dynamodb.cn-north-1.amazonaws.com.cn',
    '123456789012.ddb.eu-central-1.amazonaws.com',
    'sqs.eu-central-1.api.aws',
    'vpce-1.sqs.eu-central-1.vpce.amazonaws.com',
    'SQS.EU-CENTRAL-1.AMAZONAWS.COM',
  ])('is known by its host: %s', (host) => {
    expect(refusalOf(host, {})).not.toBeNull();
  });

  it.each([
    '127.0.0.1',
    'localhost',
    'localstack',
    'localhost.localstack.cloud',
    'amazonaws.com.example',
    '',
  ])('is not what goes to %o', (host) => {
    expect(refusalOf(host, {})).toBeNull();
  });
});

describe('this test', () => {
  const message = {
    id: '1',
    queue: 'mail',
    job: 'j',
    body: '{}',
    priority: 5,
    notBefore: null,
    group: null,
    tenantId: null,
  };
  const queues = { mail: `https://${real}/123456789012/mail` };
  const refused = {
    code: 'CONFIG',
    message: expect.stringMatching(/Expected an endpoint on this machine.*LONGSHORE_ALLOW_AWS=1/),
  };
  const region = 'eu-central-1';
  const sent: unknown[] = [];
  /** What would send, and does not. */
  const own = {
    region,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: {
      async handle(request: unknown): Promise<never> {
        sent.push(request);
        throw new Error('A request was sent.');
      },
    },
  };

  beforeEach(() => {
    for (const name of ['AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_SQS', 'LONGSHORE_ALLOW_AWS'])
      vi.stubEnv(name, '');
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', '');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    expect(sent).toEqual([]);
  });

  it('cannot send to a real queue: by its URL, by a region, by an endpoint, by a client of its own', async () => {
    for (const options of [{}, { region }, { endpoint: `https://${real}` }, { client: new SQSClient(own) }]) {
      const backend = sqs({ queues, ...options });
      await expect(backend.enqueue([message])).rejects.toMatchObject(refused);
      await expect(backend.check()).rejects.toMatchObject(refused);
      await expect(
        backend.fetch({ queues: ['mail'], max: 1, leaseMs: 1_000, waitMs: 0 }),
      ).rejects.toMatchObject(refused);
      await backend.close();
    }
  });

  it('cannot make a real schedule', async () => {
    const roleArn = 'arn:aws:iam::123456789012:role/scheduler';
    const scheduler = { roleArn, client: new SchedulerClient(own) };
    const backend = sqs({ queues, region, scheduler });
    const later = { ...message, notBefore: Date.now() + 3_600_000 };
    await expect(backend.enqueue([later])).rejects.toMatchObject(refused);
    await backend.close();
  });

  it('cannot touch a real table', async () => {
    for (const options of [{ region }, { client: new DynamoDBClient(own) }]) {
      const store = dynamoStore({ table: 'jobs', ...options });
      await expect(store.keys.claim('k', 'o', Date.now() + 1_000)).rejects.toMatchObject(refused);
      await expect(createDynamoTable({ table: 'jobs', ...options })).rejects.toMatchObject(refused);
      await store.close();
    }
  });

  it('cannot touch a real bucket', async () => {
    for (const options of [{ region }, { client: new S3Client(own) }]) {
      const payloads = s3Payloads({ bucket: 'payloads', ...options });
      await expect(payloads.put('a', new Uint8Array(1))).rejects.toMatchObject(refused);
      await expect(payloads.get('a', 1)).rejects.toMatchObject(refused);
      await expect(payloads.delete('a')).rejects.toMatchObject(refused);
    }
  });

  it('can where a local server is named', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_SQS', 'http://127.0.0.1:1');
    const { requestHandler: _, ...real } = own;
    const client = new SQSClient({ ...real, useQueueUrlAsEndpoint: false, maxAttempts: 1 });
    const backend = sqs({ queues, client });
    await expect(backend.enqueue([message])).rejects.toMatchObject({ code: 'BACKEND' }); // nobody listens there
    await backend.close();
  });
});
