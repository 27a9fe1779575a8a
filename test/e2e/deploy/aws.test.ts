/** `longshore package aws` for a stranger's app: what it writes is deployed by osls as far as that goes offline, and runs in the simulation. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type StrangersApp, shopFiles, strangersApp } from './kit.ts';

const osls = createRequire(import.meta.url).resolve('osls/bin/serverless.js');
const offline = {
  SLS_NOTIFICATIONS_MODE: 'off',
  SLS_TELEMETRY_DISABLED: '1',
  AWS_REGION: 'eu-central-1',
  HTTPS_PROXY: 'http://127.0.0.1:1',
};
let shop: StrangersApp;

beforeAll(async () => {
  shop = await strangersApp(shopFiles);
}, 400_000); // the release is built first

const read = (path: string): string => readFileSync(join(shop.folder, path), 'utf8');

describe('longshore package aws', { timeout: 300_000 }, () => {
  it('writes a bundle and a template, whose numbers are those of the app', async () => {
    const { code, stdout, stderr } = await shop.longshore('package aws');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/worker, schedule, enqueue; \d+ KB are loaded at the start/);
    expect(stdout).toMatch(/Written: serverless\.yml, serverless\/roles\.yml, serverless\/alarms\.yml/);
    expect(stdout).toContain(
      'Secrets: shop/<stage>/signing-keys, shop/<stage>/smtp-url, shop/<stage>/api-key.',
    );
    const { service, functions } = parse(read('serverless.yml'), { merge: true, logLevel: 'silent' });
    expect(service).toBe('shop');
    expect(functions.worker).toMatchObject({ handler: 'dist/functions/main.worker', timeout: 360 });
    const [mail, imports] = functions.worker.events.map(({ sqs }: { sqs: object }) => sqs);
    expect(mail).toMatchObject({ functionResponseType: 'ReportBatchItemFailures' });
    expect(imports.maximumConcurrency).toBe(6);
    expect(Object.keys(functions.schedule.environment)).toEqual(['SMTP_URL']);
    expect(Object.keys(functions.enqueue.environment)).toEqual(['SMTP_URL', 'API_KEY']);
  });

  it('writes what osls makes a template of, without a network, in which the doctor finds nothing', async () => {
    const { code, stdout, stderr } = await shop.run(process.execPath, [osls, 'package'], offline);
    expect({ code, out: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, out: '' });
    const template = '.serverless/cloudformation-template-update-stack.json';
    const { Resources } = JSON.parse(read(template)) as { Resources: Record<string, { Type: string }> };
    const count = (type: string) => Object.values(Resources).filter(({ Type }) => Type === type).length;
    expect(count('AWS::SQS::Queue')).toBe(4);
    expect(count('AWS::Lambda::EventSourceMapping')).toBe(2);
    expect(count('AWS::IAM::Role')).toBe(4);
    const doctor = await shop.longshore('doctor --json');
    const { findings } = JSON.parse(doctor.stdout) as { findings: { id: string }[] };
    expect(findings.filter(({ id }) => id.startsWith('aws.'))).toEqual([]);
  });

  it('writes a bundle that runs behind SQS, with a DynamoDB that the simulation brings', async () => {
    const keys = `k:${Buffer.alloc(32, 7).toString('base64')}`;
    const line = 'simulate lambda --exit-when-idle --json';
    const { code, stdout, stderr } = await shop.longshore(line, { LONGSHORE_SIGNING_KEYS: keys });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // An import, and the mail that it enqueues.
    expect(JSON.parse(stdout)).toMatchObject({ done: 2, reportedFailed: 0, failedInvocations: 0 });
  });

  it('overwrites no template that was changed, and says which', async () => {
    const edited = read('serverless.yml').replace('memorySize: 512', 'memorySize: 1024');
    writeFileSync(join(shop.folder, 'serverless.yml'), edited);
    const before = readdirSync(join(shop.folder, 'dist/functions')).sort();
    const refused = await shop.longshore('package aws');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^CONFIG: serverless\.yml in .* exists and is different .*--force\.\n$/);
    expect(read('serverless.yml')).toBe(edited);
    expect(readdirSync(join(shop.folder, 'dist/functions')).sort()).toEqual(before);
    expect((await shop.longshore('package aws --template none')).code).toBe(0);
    expect(read('serverless.yml')).toBe(edited);
    expect((await shop.longshore('package aws --out deploy')).code).toBe(0);
    expect(existsSync(join(shop.folder, 'deploy/dist/functions/main.mjs'))).toBe(true);
    expect((await shop.longshore('package aws --force')).code).toBe(0);
    expect(read('serverless.yml')).toContain('memorySize: 512');
  });
});

describe('without a package that it needs', { timeout: 300_000 }, () => {
  it.each([
    [
      'dynalite',
      'simulate lambda functions.ts',
      /^CONFIG: The functions keep their state in DynamoDB\. Run npm install --save-dev dynalite/,
    ],
    ['@aws-sdk/client-s3', 'package aws --template none', null],
    [
      '@aws-sdk/client-dynamodb',
      'package aws',
      /^CONFIG: The functions need @aws-sdk\/client-dynamodb, .* Run npm install @aws-sdk\/client-dynamodb\.\n$/,
    ],
    ['@aws-sdk/client-sqs', 'package aws', /^CONFIG: The functions need .*@aws-sdk\/client-sqs, /],
    ['esbuild', 'package aws', /^CONFIG: .*npm install --save-dev --ignore-scripts esbuild\.\n$/],
  ])('%s: says what to install, or goes on where the app does not use it', async (name, line, text) => {
    shop.remove(name);
    const { code, stderr } = await shop.longshore(line, {
      LONGSHORE_SIGNING_KEYS: `k:${Buffer.alloc(32, 7).toString('base64')}`,
    });
    if (text === null) expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    else expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(text) });
  });
});
