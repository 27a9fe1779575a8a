/** What is DynamoDB's own: the table and its key design, expiry, the size of an item, and what goes wrong. */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { CreateTableCommand, DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createDynamoTable, dynamoStore, dynamoTable } from '../../../functions/aws/dynamo/index.ts';
import { startDynamo } from '../../kit/servers/dynamo-server.ts';
import { jobMaker } from '../../kit/stores.ts';
import { auditEntry } from '../../testing/laws/audit-entry.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { lookedAt } from '../diagnoses.ts';
import { type OpenTable, openTable, region, retention } from './table-kit.ts';

const table = 'longshore-state';
const clock = createVirtualClock();
let opened: OpenTable;
let { client, stores, writer, item } = {} as OpenTable;

beforeAll(async () => {
  // Of nobody: the server takes any, but the SDK will not send without them.
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  opened = await openTable(table, clock);
  ({ client, stores, writer, item } = opened);
});
afterAll(() => opened.close());

const { newJob, ended } = jobMaker(clock);

describe('the table', () => {
  it('is the one that templates are given', async () => {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
    const { KeySchema, GlobalSecondaryIndexes, BillingMode, TimeToLiveSpecification } = dynamoTable(table);
    expect(Table).toMatchObject({ KeySchema, BillingModeSummary: { BillingMode } });
    expect(Table?.GlobalSecondaryIndexes).toMatchObject(GlobalSecondaryIndexes);
    expect(TimeToLiveSpecification).toEqual({ AttributeName: 'expiresAt', Enabled: true });
  });

  it('is made by migrate() when it is missing, by one of several', async () => {
    const made = dynamoStore({ table: 'migrated', client });
    const peer = dynamoStore({ table: 'migrated', client });
    const versions = await Promise.all([made.migrate(), peer.migrate()]);
    expect(versions).toEqual([
      { from: null, to: 2 },
      { from: null, to: 2 },
    ]);
    expect(await made.migrate()).toEqual({ from: 2, to: 2 });
    expect(await made.records.get('id')).toBe(null);
  });

  it("is not confused with another program's, or with one without its index", async () => {
    await client.send(
      new CreateTableCommand({
        TableName: 'strange',
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      }),
    );
    await expect(dynamoStore({ table: 'strange', client }).migrate()).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/keys table.pk, shelves.shelf, shelves.place, got table.pk\./),
    });
  });

  it('is not created twice', async () => {
    const again = createDynamoTable({ table, client });
    await expect(again).rejects.toMatchObject({
      code: 'BACKEND',
      message: expect.stringMatching(/^DynamoDB failed while creating/),
    });
  });
});

describe('the doctor', () => {
  it('is told that nothing expires, and of a table that is missing', async () => {
    const where = `table ${table}`;
    expect((await lookedAt(dynamoStore({ table, client }))).found).toEqual({
      'dynamo.expiry': [
        expect.objectContaining({ where, text: expect.stringMatching(/^Time to live is off/) }),
      ],
    });
    const missing = lookedAt(dynamoStore({ table: 'missing', client }));
    await expect(missing).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/longshore migrate/),
    });
  });

  it.each([
    ['expiresAt', {}],
    ['ttl', { 'dynamo.expiry': [{ text: expect.stringMatching(/^Time to live goes by ttl/) }] }],
  ])('takes no attribute but that of the items: %s', async (AttributeName, found) => {
    // The server knows of no expiry: only this part of its answer is another one.
    const { credentials } = client.config;
    const own = new DynamoDBClient({ endpoint: opened.endpoint, region, credentials });
    own.middlewareStack.add((next) => async (args) => {
      const { output, ...rest } = await next(args);
      const TimeToLiveDescription = { TimeToLiveStatus: 'ENABLED' as const, AttributeName };
      return { ...rest, output: { ...output, TimeToLiveDescription } };
    });
    expect((await lookedAt(dynamoStore({ table, client: own }))).found).toMatchObject(found);
    own.destroy();
  });
});

describe('an item', () => {
  it('of a job expires when its record is past the retention, and not while it lives', async () => {
    const [done, failed] = [newJob(), newJob()];
    await writer.enqueued([done, failed]);
    expect((await item(`job#${done.id}`))?.expiresAt).toBeUndefined();
    for (const job of [done, failed])
      await writer.started(job, { owner: 'anna', attempt: 1, at: clock.now() });
    await writer.settled(done, 'anna', ended(1));
    await writer.settled(failed, 'anna', ended(1, { reason: 'permanent', error: 'no' }));
    const seconds = (ms: number) => ({ N: String(Math.ceil(ms / 1000)) });
    const at = clock.now();
    expect((await item(`job#${done.id}`))?.expiresAt).toEqual(seconds(at + retention.completedMs));
    expect((await item(`job#${failed.id}`))?.expiresAt).toEqual(seconds(at + retention.deadMs));

    clock.advance(1_000);
    await writer.started(failed, { owner: 'ben', attempt: 1, at: clock.now() });
    expect((await item(`job#${failed.id}`))?.expiresAt, 'its dead letter was retried').toBeUndefined();
  });

  it('of the audit log expires 401 days after what it tells of', async () => {
    const at = clock.now() - 3_000;
    await stores.audit!.append(auditEntry('one', at));
    // A day longer than a purge of other stores leaves it.
    const expiresAt = { N: String(Math.ceil(at / 1000) + 401 * 86_400) };
    expect((await item('text#audit-id/one'))?.expiresAt).toEqual(expiresAt);
  });

  it('of a key expires with its hold or its value, whichever is later', async () => {
    const now = clock.now();
    await stores.keys.claim('k', 'anna', now + 60_000);
    expect(Number((await item('key#k'))?.expiresAt?.N)).toBe(Math.ceil((now + 60_000) / 1000));
    await stores.keys.release('k', 'anna', { value: '1', keepUntil: now + 900_000 });
    await stores.keys.claim('k', 'ben', now + 60_000);
    expect(Number((await item('key#k'))?.expiresAt?.N)).toBe(Math.ceil((now + 900_000) / 1000));
  });

  it('of a limit expires with what ends last, and never while it is held until a reset', async () => {
    const now = clock.now();
    const asked = { key: 'k', limit: 1, owner: 'lease', holdMs: 60_000, rank: 0, queue: 'mail' };
    const expiresAt = async () => (await item('limit#kk'))?.expiresAt;
    await stores.limits!.take([{ ...asked, holder: 'anna' }]);
    expect(await expiresAt()).toEqual({ N: String(Math.ceil((now + 60_000) / 1000)) });
    await stores.limits!.take([{ ...asked, holder: 'ben' }]);
    const forgotten = now + 60_000 + 86_400_000;
    expect(await expiresAt()).toEqual({ N: String(Math.ceil(forgotten / 1000)) });
    expect(Number((await item('limit#hben'))?.expiresAt?.N)).toBeGreaterThanOrEqual(forgotten / 1000);
    await stores.limits!.hold('k', Number.POSITIVE_INFINITY);
    expect(await item('limit#kk')).toBeDefined();
    expect(await expiresAt()).toBeUndefined();
    await stores.limits!.reset('k');
    await stores.limits!.wake('k', 1);
    expect(await item('limit#kk')).toBeUndefined();
  });

  it('of a limit never outgrows what DynamoDB takes: who waits longest stays, and too many slots are refused', async () => {
    const asked = { limit: 1_000, holdMs: 60_000, queue: 'mail' };
    const long = (n: number) => ({ holder: `${n}-${'ü'.repeat(2_000)}`, owner: `${n}`.repeat(900), rank: n });
    const slots = Array.from({ length: 80 }, (_, n) => ({ ...asked, ...long(n + 1), key: 'long' }));
    await stores.limits!.take(slots);
    await stores.limits!.hold('long', 60_000);
    const waiting = Array.from({ length: 200 }, (_, n) => ({ ...asked, ...long(n + 101), key: 'long' }));
    await stores.limits!.take(waiting);
    const [state] = await stores.limits!.list({ prefix: 'long' });
    expect(state).toMatchObject({ used: 80, limit: 1_000 });
    expect(state!.waiting).toBeLessThan(20);
    await stores.limits!.reset('long');
    const [first] = await stores.limits!.wake('long', 1);
    expect(first!.holder).toBe(waiting[0]!.holder);
    const tooMany = Array.from({ length: 100 }, (_, n) => ({ ...asked, ...long(n), key: 'too many' }));
    await expect(stores.limits!.take(tooMany)).rejects.toMatchObject({
      code: 'LIMIT',
      message: expect.stringMatching(/the limit too many to fit into one item, got 100 of them/),
    });
    expect(await stores.limits!.list({ prefix: 'too many' })).toEqual([]);
  });

  it('of a limit holds as many slots as an app may ask for', async () => {
    const most = stores.limits!.mostSlots!;
    const asked = { key: 'large', limit: most, holdMs: 60_000, queue: 'mail', rank: 0 };
    const slots = Array.from({ length: most }, () => ({
      ...asked,
      holder: `${randomUUID()}#1`,
      owner: 'a receipt handle '.repeat(20),
    }));
    expect((await stores.limits!.take(slots)).every(({ taken }) => taken)).toBe(true);
    expect((await stores.limits!.list({ prefix: 'large' }))[0]).toMatchObject({ used: most });
    await stores.limits!.reset('large');
  });

  it('never outgrows what DynamoDB takes: the newest output stays, older ones go', async () => {
    const job = newJob();
    const output = (letter: string) => JSON.stringify(letter.repeat(65_000)); // 195 kB, three bytes each
    for (const letter of ['€', '→', '✓', '✗']) {
      clock.advance(1_000);
      await writer.started(job, { owner: letter, attempt: 1, at: clock.now() });
      await writer.settled(job, letter, ended(1, { output: output(letter) }));
    }
    const record = await stores.records.get(job.id);
    expect(record?.status).toBe('completed');
    expect(record?.output).toBe('✗'.repeat(65_000));
    expect(record?.attempts).toHaveLength(4);
    expect(record?.attempts.map((each) => each.output !== null)).toEqual([false, false, false, true]);
  });

  it('loses the oldest attempts when errors alone are too many', async () => {
    const job = newJob();
    const error = { code: 'HANDLER', message: '€'.repeat(2_000), stack: '€'.repeat(4_000) };
    for (let attempt = 1; attempt <= 80; attempt++) {
      clock.advance(1_000);
      await writer.started(job, { owner: `lease ${attempt}`, attempt, at: clock.now() });
      const end = ended(attempt, { runAt: clock.now() });
      await writer.settled(job, `lease ${attempt}`, { ...end, report: { ...end.report, error } });
    }
    const { attempts, status } = (await stores.records.get(job.id))!;
    expect(status).toBe('retrying');
    expect(attempts.at(-1)?.attempt).toBe(80);
    expect(attempts.length).toBeGreaterThan(20);
    expect(attempts.length).toBeLessThan(80);
    expect(attempts.map((each) => each.attempt)).toEqual(attempts.map((_, i) => 81 - attempts.length + i));
  });
});

describe('what goes wrong', () => {
  it('says that the table is missing, and what to do', async () => {
    const missing = dynamoStore({ table: 'nowhere', client });
    await expect(missing.records.get('id')).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(
        /\(table nowhere\).* Create the table with `longshore migrate`, createDynamoTable\(\)/,
      ),
    });
  });

  it('says that nobody answers', async () => {
    const first = await startDynamo();
    const { endpoint } = first;
    await first.close();
    const store = dynamoStore({ table, endpoint, region });
    await expect(store.records.get('id')).rejects.toMatchObject({
      code: 'BACKEND',
      message: expect.stringMatching(
        /^DynamoDB failed while reading \(table longshore-state\): .*ECONNREFUSED/,
      ),
    });
    await store.close();
  });

  it.each(['', 'a', 'my table', undefined])('refuses %j as the name of a table', (name) => {
    expect(() => dynamoStore({ table: name as string })).toThrow(
      /^dynamoStore\(\): a table name has 3 to 255 characters of A-Z a-z 0-9 _ \. -, got /,
    );
  });
});

describe('the client', () => {
  it('is left open when it was given', async () => {
    const store = dynamoStore({ table, client });
    await store.records.get('id');
    await store.close();
    await expect(stores.records.get('id')).resolves.toBeNull();
  });

  it('is loaded with the SDK at the first use, not before', async () => {
    const index = resolve(import.meta.dirname, '../../../functions/aws/dynamo/index.ts');
    const program = `
      import { registerHooks } from 'node:module';
      let sdk = 0;
      registerHooks({ load: (url, context, next) => { if (url.includes('@aws-sdk')) sdk++; return next(url, context); } });
      const { dynamoStore } = await import(${JSON.stringify(index)});
      const store = dynamoStore({ table: 'state', endpoint: 'http://127.0.0.1:1', region: 'eu-central-1' });
      const before = sdk;
      await store.records.get('id').catch(() => {});
      console.log(before, sdk > 0);`;
    const args = ['--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 });
    expect(stdout.trim()).toBe('0 true');
  });
});
