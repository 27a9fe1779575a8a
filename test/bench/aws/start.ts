/**
 * What a function of AWS costs before its first job: CPU time until the handler of that job is called, in a new process each time. The
 * SDKs are replaced by empty ones, so that Longshore's own code is what remains. bench, test and docs/decisions/function-start.md use this.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createApp } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { bundle } from '../../../local/package/bundle.ts';
import { job, signing } from './entries/functions.ts';

/** The release that the start is compared with. */
export const baseline = '6b551adc';
/** Of what a function loads at its start, minified, without SDKs: the only limit of size. */
export const mostBytes = 128 * 1024;

/** In turns, `rounds` times: this working tree and the baseline, each bundled as `longshore package` does it. */
export async function compareStarts(
  folder: string,
  rounds: number,
): Promise<{ readonly now: readonly number[]; readonly before: readonly number[] }> {
  const event = await eventOfOneJob();
  const mains: string[] = [];
  for (const [name, commit] of [
    ['now', null],
    ['before', baseline],
  ] as const) {
    const tree = treeOf(join(folder, name), commit);
    await bundle(join(tree, 'entry.ts'), join(folder, `${name}-bundle`), { node: 24 });
    mains.push(join(folder, `${name}-bundle`, 'main.mjs'));
  }
  const times = Array.from({ length: rounds }, () => mains.map((main) => startCpuMs(main, event)));
  return { now: times.map(([now]) => now!), before: times.map(([, before]) => before!) };
}

const root = join(import.meta.dirname, '../../..');
const rooms = ['core', 'functions', 'local'];

const entry = `
import { createApp, defineJob, keyRing } from './core/index.ts';
import { dynamoStore, lambda, sqs } from './functions/aws/index.ts';
const payload = { '~standard': { version: 1, vendor: 'bench', validate: () => ({ value: null }) } };
const job = defineJob({ name: 'nothing', queue: 'mail', payload, handle: () => globalThis.began() });
const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32).fill(1) }]);
const backend = sqs({ queueUrl: 'http://127.0.0.1:1/000000000000/bench-' });
const store = dynamoStore({ table: 'bench-jobs', region: 'us-east-1' });
export const { worker } = lambda(createApp({ jobs: [job], signing }), { backend, store, log: false });`;

/** Commands of any name, and a client that answers each of them with nothing. */
const emptySdk = (names: readonly string[]): string =>
  names
    .map((name) =>
      name.endsWith('Client')
        ? `export class ${name} { config = {}; middlewareStack = { add() {}, use() {} }; async send() { return {}; } destroy() {} }`
        : `export class ${name} { middlewareStack = { add() {} }; constructor(input) { this.input = input; } }`,
    )
    .join('\n');

function writeSdk(folder: string, name: string): void {
  const at = join(folder, 'node_modules/@aws-sdk', name);
  const text = ['sqs', 'dynamo', 's3']
    .flatMap((one) => ['sdk.ts', 'index.ts'].map((file) => join(folder, 'functions/aws', one, file)))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const names = [...new Set([...text.matchAll(/\b[A-Z]\w*(?:Command|Client)\b/g)].map(([one]) => one))];
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, 'package.json'), '{ "type": "module", "main": "index.js", "sideEffects": false }');
  writeFileSync(join(at, 'index.js'), emptySdk(names));
}

/** The program of this working tree, or of a commit, with empty SDKs. */
export function treeOf(folder: string, commit: string | null): string {
  mkdirSync(folder, { recursive: true });
  if (commit === null)
    for (const room of rooms) cpSync(join(root, room), join(folder, room), { recursive: true });
  else {
    const archive = execFileSync('git', ['archive', commit, ...rooms], { cwd: root, maxBuffer: 1 << 28 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "sideEffects": false }');
  for (const name of ['client-sqs', 'client-dynamodb', 'client-s3', 'client-scheduler'])
    writeSdk(folder, name);
  symlinkSync(join(root, 'node_modules/croner'), join(folder, 'node_modules/croner'));
  writeFileSync(join(folder, 'entry.ts'), entry);
  return folder;
}

/** An SQS event with one genuine job. */
export async function eventOfOneJob(): Promise<string> {
  const backend = memory();
  const client = connect(createApp({ jobs: [job], signing }), backend);
  await client.enqueue(job, null);
  const [lease] = await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 1_000, waitMs: 0 });
  const attributes = {
    ApproximateReceiveCount: '1',
    SentTimestamp: String(Date.now()),
    AWSTraceHeader: undefined,
  };
  return JSON.stringify({
    Records: [
      {
        messageId: '5d3a2b3e-0000-4000-8000-000000000000',
        receiptHandle: 'h',
        body: lease!.body,
        attributes,
        messageAttributes: {},
        eventSource: 'aws:sqs',
        eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:bench-mail',
        awsRegion: 'us-east-1',
      },
    ],
  });
}

/** CPU time of one new process, ms, from before the import until the job's handler is called. */
export function startCpuMs(main: string, event: string): number {
  const code = `
    const before = process.cpuUsage();
    globalThis.began = () => {
      const { user, system } = process.cpuUsage(before);
      process.stdout.write(String((user + system) / 1000), () => process.exit(0));
    };
    const { worker } = await import(${JSON.stringify(main)});
    const answer = await worker(${event}, { awsRequestId: '1', getRemainingTimeInMillis: () => 20_000 });
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    throw new Error('No job began: ' + JSON.stringify(answer));`;
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }));
}
