/** The command line on SQS: the real program, in processes of its own, with the state in DynamoDB, SQLite or Postgres. */

import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SendMessageCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqsQueues } from '../../../functions/aws/index.ts';
import { makeProject, root, shopOn } from '../../e2e/cli/kit.ts';
import { type DynamoServer, startDynamo } from '../../kit/servers/dynamo-server.ts';
import { freshDatabase } from '../postgres/schemas.ts';
import { type Endpoint, openEndpoint } from './endpoint.ts';

let endpoint: Endpoint;
let dynamo: DynamoServer;
let queues: Record<string, string>;
let cwd: string;
const database = await freshDatabase();
const table = `cli-${process.pid}`;
const prefix = `cli${process.pid}-`;

/** By prefix: then the backend does not know its queues until the app names them. */
const backendOf = (url: string) =>
  `() => sqs({ endpoint: '${url}', queueUrl: '${url}/000000000000/${prefix}', longPollMs: 1_000 })`;

function configWith(store: string): string {
  return `import { dynamoStore, sqs } from ${JSON.stringify(join(root, 'functions/aws/index.ts'))};
    import { sqliteStore } from ${JSON.stringify(join(root, 'local/backends/sqlite/index.ts'))};
    import { postgresStore } from ${JSON.stringify(join(root, 'local/backends/postgres/index.ts'))};
    ${shopOn(backendOf(endpoint.url))}
    export const store = ${store};`;
}

beforeAll(async () => {
  endpoint = await openEndpoint();
  dynamo = await startDynamo();
  queues = await createSqsQueues({ endpoint: endpoint.url, queues: ['default', 'mail'], prefix });
  cwd = makeProject({
    'longshore.config.ts': configWith(`dynamoStore({ table: '${table}', endpoint: '${dynamo.endpoint}' })`),
    'sqlite.config.ts': configWith(`() => sqliteStore(import.meta.dirname + '/state.db')`),
    'postgres.config.ts': configWith(`async () => postgresStore('${database.url}')`),
  });
});
afterAll(async () => {
  for (const url of Object.values(queues)) {
    await endpoint.deleteQueue(url);
    await endpoint.deleteQueue(`${url}-dlq`);
  }
  await endpoint.stop();
  await dynamo.close();
  await database.drop();
  rmSync(cwd, { recursive: true, force: true });
});

interface Ended {
  readonly code: number;
  readonly stderr: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the command prints
  readonly data: any;
}

async function longshore(
  args: readonly string[],
  more: NodeJS.ProcessEnv = {},
  folder = cwd,
): Promise<Ended> {
  const argv = [join(root, 'local/cli/main.ts'), ...args, '--json'];
  const env = { ...process.env, NODE_OPTIONS: '', ...more };
  const run = promisify(execFile)(process.execPath, argv, { cwd: folder, env, timeout: 120_000 });
  const { code = 0, stdout, stderr } = await run.catch((error) => error);
  return { code, stderr, data: stdout === '' ? JSON.parse(stderr) : JSON.parse(stdout) };
}
const line = (text: string) => longshore(text.split(' '));

describe('longshore on SQS', { timeout: 120_000 }, () => {
  it('says what to do about a table that is missing, and makes it', async () => {
    expect(await line('jobs list')).toMatchObject({
      code: 1,
      data: { error: { code: 'CONFIG', message: expect.stringContaining('longshore migrate') } },
    });
    const none = { backend: 'sqs', how: 'none', from: null, to: null };
    const made = { ...none, store: { how: 'migrate', from: null, to: 2 } };
    expect((await line('migrate')).data).toEqual(made);
    expect((await line('migrate')).data).toEqual({ ...none, store: { how: 'migrate', from: 2, to: 2 } });
  });

  it.each(['sqlite', 'postgres'])('migrates a store in %s', async (name) => {
    const { code, data } = await line(`migrate --config ${name}.config.ts`);
    expect({ code, data }).toMatchObject({ code: 0, data: { store: { how: 'migrate', from: null } } });
    const again = await line(`migrate --config ${name}.config.ts`);
    expect(again.data.store.from).toBe(data.store.to);
  });

  it('enqueues, works and shows the record', async () => {
    const { data: sent } = await longshore(['enqueue', 'greet', '{"name":"Ada"}']);
    const pending = await line(`jobs show ${sent.id}`);
    expect(pending.data.job).toMatchObject({ id: sent.id, status: 'pending' });
    const { code, data, stderr } = await line('work --drain --no-schedules');
    expect({ code, stderr, acked: data.counts.acked }).toEqual({ code: 0, stderr: '', acked: 1 });
    const shown = await line(`jobs show ${sent.id}`);
    expect(shown.data.job).toMatchObject({ status: 'completed', output: { greeted: 'Ada' } });
  });

  it('counts what waits and what is dead, queue by queue', async () => {
    await longshore(['enqueue', 'mail.send', '{"to":"nobody"}']);
    await longshore(['enqueue', 'mail.send', '{"to":"nobody"}']);
    await endpoint.client.send(new SendMessageCommand({ QueueUrl: queues.mail!, MessageBody: 'forged' }));
    await longshore(['enqueue', 'greet', '{"name":"Bob"}', '--delay', '10m']);
    const before = await line('status');
    expect(before).toMatchObject({
      code: 0,
      data: {
        backend: 'sqs',
        queues: [
          { queue: 'default', ready: 0, delayed: 1, dead: 0 },
          { queue: 'mail', ready: 3, delayed: 0, dead: 0 },
        ],
      },
    });
    expect((await line('health --min-workers 0')).data.checks).toContainEqual({
      name: 'age',
      ok: null,
      detail: 'sqs does not report how long jobs wait',
    });
    expect((await line('work --drain --no-schedules')).code).toBe(1);
    expect((await line('status mail')).data.queues).toMatchObject([{ queue: 'mail', ready: 0, dead: 3 }]);
  });

  it('calls a queue unhealthy that gives its jobs up before their last retry', async () => {
    const QueueUrl = queues.mail!;
    const deadLetterTargetArn = `arn:aws:sqs:us-east-1:000000000000:${prefix}mail-dlq`;
    const redrive = (policy: string) =>
      endpoint.client.send(
        new SetQueueAttributesCommand({ QueueUrl, Attributes: { RedrivePolicy: policy } }),
      );
    await redrive(JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 }));
    const { code, data } = await line('health --min-workers 0');
    await redrive('');
    await line('tick'); // a schedule that nobody checks is unhealthy too
    expect(code).toBe(1);
    expect(data.checks).toContainEqual({
      name: 'settings',
      ok: false,
      detail: expect.stringMatching(/^CONFIG: Expected maxReceiveCount of queue "mail" .* or more, got 2/),
    });
    await line('tick'); // a schedule that nobody checks is unhealthy, too
    const mended = await line('health --min-workers 0');
    expect(mended.code).toBe(0);
    expect(mended.data.checks).toContainEqual({
      name: 'settings',
      ok: null,
      detail: expect.stringMatching(/VisibilityTimeout of queue "mail" at .* is 30000 ms.* 300000 ms/),
    });
  });

  it('lists, retries and discards dead letters', async () => {
    const { data } = await line('dead list');
    const letters = data.deadLetters as { id: string; reason: string; queue: string }[];
    expect(letters.map(({ reason }) => reason).sort()).toEqual(['permanent', 'permanent', 'rejected']);
    const [first, second] = letters.filter(({ reason }) => reason === 'permanent');
    const shown = await line(`dead show ${first!.id}`);
    expect(shown.data.deadLetter).toMatchObject({ job: 'mail.send', queue: 'mail' });
    expect((await line(`dead retry ${first!.id}`)).data).toMatchObject({
      retried: 1,
      missing: [],
      refused: [],
    });
    expect((await line('status mail')).data.queues).toMatchObject([{ ready: 1, dead: 2 }]);
    expect((await line(`dead discard ${second!.id} --yes`)).data).toMatchObject({
      discarded: 1,
      missing: [],
      refused: [],
    });
    expect(await line(`dead retry ${second!.id}`)).toMatchObject({
      code: 3,
      data: { retried: 0, missing: [second!.id] },
    });
    expect((await line('dead list --reason permanent')).data.deadLetters).toEqual([]);
    expect((await line('dead discard --all --reason rejected --queue mail --yes')).data.discarded).toBe(1);
    expect((await line('status mail')).data.queues).toMatchObject([{ ready: 1, dead: 0 }]);
  });

  it('runs the chosen ones again in bulk, no faster than the given pace', async () => {
    await longshore(['enqueue', 'mail.send', '{"to":"nobody"}']);
    expect((await line('work --drain --no-schedules')).data.deadLetters).toBe(2);
    expect((await line('dead retry --all --older-than 1h --rate 1')).code).toBe(3);
    const { code, data } = await line(
      'dead retry --all --queue mail --job mail.send --reason permanent --rate 2',
    );
    expect({ code, data }).toMatchObject({ code: 0, data: { retried: 2, missing: [], refused: [] } });
    expect((await line('status mail')).data.queues).toMatchObject([{ ready: 2, dead: 0 }]);
  });

  it.each([
    ['pause mail', /SQS cannot pause.*event source mapping/],
    ['clear mail --yes', /SQS cannot clear a queue.*purging/],
  ])('says what SQS cannot do at `%s`', async (command, says) => {
    const { code, data } = await line(command);
    expect({ code, error: data.error }).toMatchObject({ code: 1, error: { code: 'CONFIG' } });
    expect(data.error.message).toMatch(says);
  });

  it('knows no queue that is not there', async () => {
    expect(await line('dead list --queue mial')).toMatchObject({
      code: 3,
      data: { error: { message: expect.stringContaining('Did you mean "mail"?') } },
    });
  });
});

describe('the example shop on SQS', { timeout: 120_000 }, () => {
  const args = ['status', '--config', 'examples/longshore.config.ts'];
  const shop = (more: NodeJS.ProcessEnv) => longshore(args, { LONGSHORE_BACKEND: 'sqs', ...more }, root);

  it('is looked into by LONGSHORE_BACKEND=sqs', async () => {
    const { code, data } = await shop({ SQS_ENDPOINT: endpoint.url });
    expect({ code, backend: data.backend }).toEqual({ code: 0, backend: 'sqs' });
    expect(data.queues.map(({ queue }: { queue: string }) => queue)).toContain('payments');
    expect(existsSync(join(root, '.longshore'))).toBe(true);
  });

  it.each([
    ['', 'got nothing'],
    ['https://sqs.eu-central-1.amazonaws.com', 'expects an endpoint on this machine'],
    ['http://127.0.0.1:1', 'ECONNREFUSED'],
  ])('refuses SQS_ENDPOINT=%s', async (SQS_ENDPOINT, says) => {
    const { code, data } = await shop({ SQS_ENDPOINT });
    expect(code).toBe(1);
    expect(data.error.message).toContain(says);
  });
});
