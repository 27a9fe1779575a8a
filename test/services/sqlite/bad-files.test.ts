import { copyFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import type { LongshoreError } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { errorOf } from './error-of.ts';
import { message } from './messages.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a file that cannot be a queue', () => {
  it('is refused when it is no database', () => {
    const path = join(folder, 'notes.txt');
    writeFileSync(path, 'These are my notes, not a database. '.repeat(200));
    expect(errorOf(() => sqlite(path))).toMatchObject({
      code: 'CORRUPT',
      message: expect.stringMatching(/Choose another path/),
    });
  });

  it('is refused when another program made it, and is left as it was', () => {
    const path = join(folder, 'other.db');
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE recipes (name TEXT)');
    other.close();
    const error = errorOf(() => sqlite(path));
    expect(error).toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/another program.*own file/),
    });
    const again = new DatabaseSync(path);
    expect(again.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'recipes' }]);
    again.close();
  });

  it.each([
    [7, /got 7: no release has written it/],
    [999, /got 999.*Upgrade/],
  ])('is refused at version %i', async (version, message) => {
    const path = join(folder, `${version}.db`);
    await sqlite(path).close();
    const db = new DatabaseSync(path);
    db.exec(`PRAGMA user_version = ${version}`);
    db.close();
    const error = errorOf(() => sqlite(path));
    expect(error).toMatchObject({ code: 'SCHEMA_VERSION', message: expect.stringMatching(message) });
  });

  it('is refused when its folder cannot be made', () => {
    const file = join(folder, 'plain-file');
    writeFileSync(file, '');
    const error = errorOf(() => sqlite(join(file, 'queue.db')));
    expect(error).toMatchObject({ code: 'READ_ONLY', message: expect.stringMatching(/Expected a folder/) });
  });

  it('is refused when it is a folder', () => {
    mkdirSync(join(folder, 'folder.db'));
    expect(errorOf(() => sqlite(join(folder, 'folder.db'))).code).toBe('READ_ONLY');
  });

  it.each([
    [{ path: '' }, /path of a file, got ""/],
    [{ path: ':memory:', synchronous: 'OFF' as 'FULL' }, /NORMAL or FULL, got "OFF"/],
    [{ path: ':memory:', pollMs: 0 }, /pollMs/],
  ])('is refused with options %o', (options, message) => {
    expect(errorOf(() => sqlite(options))).toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(message),
    });
  });
});

describe('a queue whose file is damaged', () => {
  it('says CORRUPT and what to do, and never gives out wrong jobs', async () => {
    const path = join(folder, 'whole.db');
    const whole = sqlite(path);
    await whole.enqueue(
      Array.from({ length: 200 }, (_, i) => message({ id: `m${i}`, body: 'x'.repeat(300) })),
    );
    await whole.close();
    const damaged = join(folder, 'damaged.db');
    copyFileSync(path, damaged);
    truncateSync(damaged, 40_960); // the schema is whole, most pages are gone
    const error = await (async () => {
      const backend = sqlite(damaged);
      for (;;) {
        const leases = await backend.fetch({ queues: ['default'], max: 50, leaseMs: 1_000, waitMs: 0 });
        if (leases.length === 0) return null;
        await backend.ack(leases.map((lease) => ({ lease })));
      }
    })().catch((error: LongshoreError) => error);
    expect(error).toMatchObject({ code: 'CORRUPT', message: expect.stringMatching(/keep a copy/) });
  });
});
