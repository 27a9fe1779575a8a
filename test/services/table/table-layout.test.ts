/** What is Table storage's own: the entities and how they change together, clean-up, sizes, and what goes wrong. */

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { TableClient } from '@azure/data-tables';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RecordedJob, RecordWriter, Stores } from '../../../core/contract/store.ts';
import { auditKeepMs } from '../../../core/kit/records/audit-log.ts';
import { tableStore } from '../../../functions/azure/table/index.ts';
import { shared } from '../../kit/shared/shared.ts';
import { jobMaker } from '../../kit/stores.ts';
import { auditEntry } from '../../testing/laws/audit-entry.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const table = 'longshorestate';
const hour = 3_600_000;
const clock = createVirtualClock();
const retention = { completedMs: hour, deadMs: 2 * hour };
let connectionString: string;
let client: TableClient;
let stores: Stores;
let writer: RecordWriter;

const clientOf = (name: string) =>
  TableClient.fromConnectionString(connectionString, name, { allowInsecureConnection: true });

beforeAll(async () => {
  ({ connectionString } = await shared('azurite'));
  client = clientOf(table);
  stores = tableStore({ table, connectionString, clock, retention });
  await stores.migrate!();
  writer = stores.records.writer!;
});

const { newJob, ended } = jobMaker(clock);

const start = (job: RecordedJob, attempt = 1, owner = 'anna') =>
  writer.started(job, { owner, attempt, at: clock.now() });

/** What begins the keys of all rows that speak of this job. */
async function rowsOf(id: string): Promise<string[]> {
  const rows = [];
  for await (const entity of client.listEntities()) {
    if (entity.id === id) rows.push(entity.rowKey!.replace(/:\d{16}:/, ':…:'));
  }
  return rows.sort();
}
async function rowCount(name = table): Promise<number> {
  let count = 0;
  for await (const _ of clientOf(name).listEntities()) count++;
  return count;
}
async function purgeAll(from: Stores): Promise<number> {
  let removed = 0;
  for (let step = 1; step > 0; removed += step) step = await from.records.purge();
  return removed;
}

describe('the table', () => {
  it('is made by migrate() when it is missing, also by several at once', async () => {
    const [made, peer] = [1, 2].map(() => tableStore({ table: 'migrated', connectionString }));
    const versions = await Promise.all([made!.migrate(), peer!.migrate()]);
    expect(versions.map(({ to }) => to)).toEqual([1, 1]);
    expect(await made!.migrate()).toEqual({ from: 1, to: 1 });
    await made!.keys.claim('k', 'anna', clock.now() + hour);
    expect(await made!.migrate()).toEqual({ from: 1, to: 1 });
  });

  it("is not confused with another program's", async () => {
    const strange = clientOf('strange');
    await strange.createTable();
    await strange.createEntity({ partitionKey: 'customers', rowKey: '1' });
    await expect(tableStore({ table: 'strange', connectionString }).migrate()).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/to be empty or Longshore's, got one with the partition "customers"/),
    });
  });
});

describe('the rows of a job', () => {
  it('change with its status, and leave nothing behind', async () => {
    const job = newJob();
    await writer.enqueued([job]);
    expect(await rowsOf(job.id)).toEqual([`job:${job.id}`, `pending:…:${job.id}`]);
    await start(job);
    await stores.records.progress(job.id, 'anna', { done: 1, total: 2, message: null, at: clock.now() });
    expect(await rowsOf(job.id)).toEqual([`job:${job.id}`, `processing:…:${job.id}`]);
    await writer.settled(job, 'anna', ended(1, { reason: 'permanent', error: 'no' }));
    const dead = [`failed:…:${job.id}`, `job:${job.id}`, `past:dead:…:${job.id}`];
    expect(await rowsOf(job.id)).toEqual(dead);
    clock.advance(1_000);
    await start(job, 1, 'ben'); // its dead letter was retried
    expect(await rowsOf(job.id)).toEqual([`job:${job.id}`, `processing:…:${job.id}`]);
    await writer.settled(job, 'ben', ended(1));
    const done = [`completed:…:${job.id}`, `job:${job.id}`, `past:ended:…:${job.id}`];
    expect(await rowsOf(job.id)).toEqual(done);
    clock.advance(hour + 61_000);
    await purgeAll(stores);
    expect(await rowsOf(job.id)).toEqual([]);
  });

  it('change together: of two that race, one writes nothing at all', async () => {
    const job = newJob();
    await writer.enqueued([job]);
    const peer = tableStore({ table, connectionString, clock, retention });
    await Promise.all([start(job, 1, 'anna'), peer.records.cancel(job.id), start(job, 2, 'ben')]);
    const rows = await rowsOf(job.id);
    const { status } = (await stores.records.get(job.id))!;
    expect(rows.filter((row) => !/^(job|past):/.test(row))).toEqual([`${status}:…:${job.id}`]);
    await writer.settled(job, 'ben', ended(2));
  });

  it('may have any id', async () => {
    clock.advance(1);
    const odd = ['a/b\\c#d?e', "o'clock", 'ü→🎉', 'x'.repeat(2_000), '%2F', 'a+b c', '..'].map((id) =>
      newJob(id),
    );
    await writer.enqueued(odd);
    await start(odd[0]!);
    for (const { id } of odd) expect((await stores.records.get(id))?.id).toBe(id);
    const listed = (await stores.records.page({ max: odd.length })).records.map(({ id }) => id);
    expect(listed.sort()).toEqual(odd.map(({ id }) => id).sort());
    for (const { id } of odd) {
      expect(await stores.keys.claim(id, 'anna', clock.now() + hour)).toMatchObject({ state: 'claimed' });
      expect(await stores.keys.claim(id, 'ben', clock.now() + hour)).toMatchObject({ state: 'running' });
    }
  });

  it('hold 1 MB: the newest output stays, older ones go', async () => {
    const job = newJob();
    const output = (letter: string) => JSON.stringify(letter.repeat(130_000 / letter.length));
    for (const letter of ['€', '→', '🎉', '✗']) {
      clock.advance(1_000);
      await start(job, 1, letter);
      await writer.settled(job, letter, ended(1, { output: output(letter) }));
      const record = await stores.records.get(job.id);
      expect(record?.output).toBe(letter.repeat(130_000 / letter.length));
    }
    const { attempts } = (await stores.records.get(job.id))!;
    expect(attempts.map((each) => each.output !== null)).toEqual([false, false, false, true]);
  });
});

describe('the sweep', () => {
  it('removes what is past its time to the last row, in bounded steps, and looks at nothing else', async () => {
    const name = 'swept';
    const swept = tableStore({ table: name, connectionString, clock, retention });
    await swept.migrate();
    const jobs = Array.from({ length: 300 }, () => newJob());
    await swept.records.writer!.enqueued(jobs);
    for (const job of jobs) {
      await swept.records.writer!.started(job, { owner: 'anna', attempt: 1, at: clock.now() });
      await swept.records.writer!.settled(job, 'anna', ended(1));
    }
    expect(await purgeAll(swept)).toBe(0);
    clock.advance(hour);
    const first = await swept.records.purge();
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(300);
    expect(first + (await purgeAll(swept))).toBe(300);
    for (let n = 0; n < 101; n++)
      await swept.audit!.append(auditEntry(`no. ${n}`.replace(' ', '/'), clock.now()));
    expect(await swept.audit!.purge(clock.now() + 1 + auditKeepMs)).toBe(100);
    expect(await swept.audit!.purge(clock.now() + 1 + auditKeepMs)).toBe(1);
    expect(await rowCount(name)).toBe(0);
  });

  it('removes keys past their time, looks again at those that were held longer, and keeps the others', async () => {
    const name = 'keyed';
    const { keys, ...rest } = tableStore({ table: name, connectionString, clock, retention });
    await rest.migrate();
    const now = clock.now();
    await keys.claim('ends', 'anna', now + 1_000);
    await keys.claim('is extended', 'anna', now + 1_000);
    await keys.extend('is extended', 'anna', now + hour);
    await keys.claim('is done', 'anna', now + 1_000);
    await keys.complete('is done', 'anna', { value: '"x"', keepUntil: now + 2 * hour });
    await keys.claim('is released', 'anna', now + 1_000);
    await keys.release('is released', 'anna');
    expect(await rowCount(name)).toBe(6);
    clock.advance(1_001);
    expect(await purgeAll({ keys, ...rest })).toBe(1);
    expect(await keys.claim('is extended', 'ben', now + hour)).toMatchObject({ state: 'running' });
    clock.advance(hour);
    expect(await purgeAll({ keys, ...rest })).toBe(1);
    expect(await keys.claim('is done', 'ben', now + hour)).toEqual({ state: 'completed', value: '"x"' });
    clock.advance(hour);
    expect(await purgeAll({ keys, ...rest })).toBe(1);
    expect(await rowCount(name)).toBe(0);
  });

  it('removes limits past their time, and keeps those that are held until a reset', async () => {
    const name = 'limited';
    const limited = tableStore({ table: name, connectionString, clock, retention });
    await limited.migrate();
    const { limits } = limited;
    const asked = {
      key: 'a/b\\c#d?e \u2028',
      limit: 1,
      owner: 'lease',
      holdMs: 1_000,
      rank: 0,
      queue: 'mail',
    };
    const slot = { ...asked, holder: 'anna' };
    await limits!.take([slot, { ...asked, holder: 'ben' }, { ...asked, key: 'done', holder: 'anna' }]);
    await limits!.free([{ ...slot, key: 'done' }]);
    expect(await rowCount(name)).toBe(4);
    await limits!.extend([slot], 3 * 24 * hour);
    await limits!.hold('held', Number.POSITIVE_INFINITY);
    clock.advance(2 * 24 * hour);
    await purgeAll(limited);
    expect((await limits!.list({})).map(({ key, used, heldUntil }) => [key, used, heldUntil])).toEqual([
      [asked.key, 1, null],
      ['held', 0, Number.POSITIVE_INFINITY],
    ]);
    clock.advance(3 * 24 * hour);
    await purgeAll(limited);
    expect(await rowCount(name)).toBe(4); // the key, and the list of keys that are held: a row and its index each
    expect(await limits!.reset('held')).toBe(true);
    expect(await rowCount(name)).toBe(2); // the list, which is empty now
  });

  it('forgets workers that were not seen for 5 minutes', async () => {
    const counts = { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };
    const about = { host: 'h', pid: 1, queues: [], concurrency: 1, running: 0, counts, memoryBytes: 1 };
    const at = clock.now();
    await stores.workers.heartbeat({ ...about, id: 'old/worker', startedAt: at, seenAt: at });
    clock.advance(5 * 60_000 + 1);
    await stores.workers.heartbeat({ ...about, id: 'new', startedAt: at, seenAt: clock.now() });
    await purgeAll(stores);
    expect((await stores.workers.list(0)).map(({ id }) => id)).toEqual(['new']);
  });
});

describe('what goes wrong', () => {
  it('says that the table is missing, and what to do', async () => {
    const missing = tableStore({ table: 'nowhere', connectionString });
    const expected = {
      code: 'CONFIG',
      message:
        /^Table storage failed while \w+ \(table nowhere\): .* Create the table with `longshore migrate`/,
    };
    await expect(missing.records.get('id')).rejects.toMatchObject(expected);
    await expect(missing.records.writer!.enqueued([newJob()])).rejects.toMatchObject(expected);
  });

  it('says that a key is wrong, and shows none', async () => {
    const wrong = connectionString.replace(
      /AccountKey=[^;]*/,
      `AccountKey=${Buffer.alloc(32).toString('base64')}`,
    );
    const error: Error = await tableStore({ table, connectionString: wrong })
      .records.get('id')
      .then(
        () => expect.fail('a wrong key must not do'),
        (reason) => reason,
      );
    expect(error).toMatchObject({ code: 'CONFIG', message: expect.stringMatching(/Check the account key/) });
    expect(error.message).not.toMatch(/AAAA|<|\n/);
  });

  it('says that nobody answers', async () => {
    const nobody = connectionString.replace(
      /TableEndpoint=[^;]*/,
      'TableEndpoint=http://127.0.0.1:1/longshore',
    );
    await expect(tableStore({ table, connectionString: nobody }).records.get('id')).rejects.toMatchObject({
      code: 'BACKEND',
      message: expect.stringMatching(
        /^Table storage failed while reading \(table longshorestate\): .*ECONNREFUSED/,
      ),
    });
  });

  it.each(['', 'ab', '1st', 'my-table', undefined])('refuses %j as the name of a table', (name) => {
    expect(() => tableStore({ table: name as string, connectionString })).toThrow(
      /^tableStore\(\) expects table to be 3 to 63 letters and digits/,
    );
  });

  const endpoint = 'https://shop.table.core.windows.net';
  it.each([
    [{}, /either connectionString or endpoint, got neither/],
    [{ connectionString: 'UseDevelopmentStorage=true', endpoint }, /got both/],
    [
      { connectionString: 'AccountKey=secret' },
      /connectionString to be like DefaultEndpoints.*got something else/,
    ],
    [{ endpoint: 'http://shop.table.core.windows.net' }, /like https:.*over https only/],
    [{ endpoint: `${endpoint}/?sv=1&sig=secret` }, /got a URL with a query/],
    [{ endpoint, credential: 'secret' }, /credential to be like new DefaultAzureCredential\(\)/],
  ])('refuses %o, and repeats no secret', (options, message) => {
    const make = () => tableStore({ table, ...(options as object) });
    expect(make).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(message) }),
    );
    expect(make).not.toThrow(/sig=|=secret/);
  });

  it('says that an endpoint needs an identity', async () => {
    await expect(tableStore({ table, endpoint }).records.get('id')).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/needs an identity, and this app has none/),
    });
  });
});

describe('the SDK', () => {
  it('is loaded at the first use, not before', async () => {
    const index = resolve(import.meta.dirname, '../../../functions/azure/index.ts');
    const program = `
      import { registerHooks } from 'node:module';
      let sdk = 0;
      registerHooks({ load: (url, context, next) => { if (url.includes('@azure')) sdk++; return next(url, context); } });
      const { tableStore } = await import(${JSON.stringify(index)});
      const store = tableStore({ table: 'state', connectionString: ${JSON.stringify(connectionString)} });
      const before = sdk;
      await store.records.get('id').catch(() => {});
      console.log(before, sdk > 0);`;
    const args = ['--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 });
    expect(stdout.trim()).toBe('0 true');
  });
});
