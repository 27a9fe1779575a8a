/** A server on this machine never gets a request that is signed with the credentials of its user. */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { dynamoStore, s3Payloads, sqs } from '../../../functions/aws/index.ts';

let server: Server;
let url: string;
let folder: string;
let signedBy: string[] = [];
let signedFor = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-profile-'));
  server = createServer((request, response) => {
    const [, key = 'nobody', region = ''] =
      /Credential=([^/]+)\/\d+\/([^/]+)/.exec(request.headers.authorization ?? '') ?? [];
    signedBy.push(key);
    signedFor = region;
    const answer = { Attributes: { QueueArn: 'arn:aws:sqs:us-east-1:000000000000:mail' }, Table: {} };
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  signedBy = [];
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAREAL');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'real');
  vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'));
});
afterEach(() => {
  vi.unstubAllEnvs();
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

interface Given {
  readonly endpoint?: string;
  readonly region?: string;
}

const roleArn = 'arn:aws:iam::123456789012:role/scheduler';
const message = { id: 'a', queue: 'mail', job: 'j', body: '{}', priority: 5, group: null, tenantId: null };

/** One request at least of each service whose endpoint the environment may name. */
const services: readonly [name: string, ask: (given: Given) => Promise<unknown>][] = [
  [
    'SCHEDULER',
    (given) => {
      const queues = { mail: `${url}/000000000000/mail` };
      const backend = sqs({ queues, ...given, scheduler: { roleArn, ...given } });
      return backend.enqueue([{ ...message, notBefore: Date.now() + 3_600_000 }]);
    },
  ],
  ['S3', (given) => s3Payloads({ bucket: 'claims', ...given }).put('a', new Uint8Array(1))],
  ['DYNAMODB', (given) => dynamoStore({ table: 'jobs', ...given }).keys!.claim('k', 'o', 1)],
];

async function isSignedByNobody(ask: Promise<unknown>): Promise<void> {
  await ask.catch(() => {}); // the server knows only one answer
  expect(signedBy.length).toBeGreaterThan(0);
  expect(new Set(signedBy)).toEqual(new Set(['test']));
}

describe.each(services)('a server on this machine instead of %s', (service, ask) => {
  it('gets none of the user as an endpoint', () => isSignedByNobody(ask({ endpoint: url })));

  it.each(['AWS_ENDPOINT_URL', `AWS_ENDPOINT_URL_${service}`])('gets none of the user by %s', (name) => {
    vi.stubEnv(name, url);
    return isSignedByNobody(ask({}));
  });

  it('is refused by a profile, where its address stands beside credentials', async () => {
    const config = join(folder, service);
    await writeFile(config, `[default]\nregion = eu-central-1\nendpoint_url = ${url}\n`);
    vi.stubEnv('AWS_CONFIG_FILE', config);
    await expect(ask({})).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/from a profile/),
    });
    expect(signedBy).not.toContain('AKIAREAL');
  });

  it('needs a region where it is not local, and says so', async () => {
    vi.stubEnv('LONGSHORE_ALLOW_AWS', '1');
    await expect(ask({})).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/region option.*AWS_REGION/),
    });
  });
});

describe('a request of SQS', () => {
  const of = (host: string) => ({ endpoint: url, queueUrl: `https://${host}/123456789012/` });
  it.each([
    ['sqs.eu-central-1.amazonaws.com', 'eu-central-1'],
    ['sqs-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1'],
    ['vpce-1-2.sqs.eu-west-3.vpce.amazonaws.com', 'eu-west-3'],
    ['sqs.cn-north-1.amazonaws.com.cn', 'cn-north-1'],
    ['queue.amazonaws.com', 'ap-south-1'],
    ['sqs.internal.example.com', 'ap-south-1'],
  ])('to %s is signed for the region of the queue, wherever the process runs', async (host, region) => {
    vi.stubEnv('AWS_REGION', 'ap-south-1');
    await sqs(of(host)).admin.stats('mail');
    expect(signedFor).toBe(region);
    await sqs({ ...of(host), region: 'sa-east-1' }).admin.stats('mail');
    expect(signedFor).toBe('sa-east-1');
  });
});

describe('an SQS on this machine', () => {
  it.each([
    [
      'as an endpoint',
      () => ({ endpoint: url, queueUrl: 'https://sqs.eu-central-1.amazonaws.com/123456789012/' }),
    ],
    ['by the URLs of queues', () => ({ queues: { mail: `${url}/000000000000/mail` } })],
    ['by what stands before every name', () => ({ queueUrl: `${url}/000000000000/` })],
  ])('gets none of the user %s', (_, options) => isSignedByNobody(sqs(options()).admin.stats('mail')));
});
