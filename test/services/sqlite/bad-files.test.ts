import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { LongshoreError } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { message } from './messages.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function errorOf(work: () => unknown): LongshoreError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(LongshoreError);
    return error as LongshoreError;
  }
  throw new Error('expected an error');
}

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

  it('is refused when a newer version wrote it', async () => {
    const path = join(folder, 'newer.db');
    await sqlite(path).close();
    const db = new DatabaseSync(path);
    db.exec('PRAGMA user_version = 999');
    db.close();
    const error = errorOf(() => sqlite(path));
    expect(error).toMatchObject({
      code: 'SCHEMA_VERSION',
      message: expect.stringMatching(/got 999.*Upgrade/),
    });
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

/** A small file system of its own, for what only a real one can show. */
describe.runIf(process.platform === 'linux' && process.getuid?.() === 0)('a file system', () => {
  async function withTmpfs(options: string, work: (path: string) => Promise<void>): Promise<void> {
    const path = mkdtempSync(join(folder, 'fs-'));
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
    if (mounted.status !== 0)
      throw new Error(`mount failed: ${mounted.stderr}. This test needs CAP_SYS_ADMIN.`);
    try {
      await work(path);
    } finally {
      spawnSync('umount', ['-l', path]);
    }
  }

  it('that is full: STORAGE_FULL for each message, what was stored stays, and it goes on when there is room', () =>
    withTmpfs('size=1m', async (path) => {
      const backend = sqlite(join(path, 'queue.db'));
      const stored: string[] = [];
      let full: LongshoreError | null = null;
      for (let i = 0; full === null; i++) {
        const [result] = await backend.enqueue([message({ id: `m${i}`, body: 'x'.repeat(20_000) })]);
        if (result!.ok) stored.push(result!.id);
        else full = result!.error;
      }
      expect(full).toMatchObject({
        code: 'STORAGE_FULL',
        message: expect.stringMatching(/disk is full; nothing of this call was stored/),
      });
      expect(stored.length).toBeGreaterThan(5);
      spawnSync('mount', ['-o', 'remount,size=8m', path]);
      expect((await backend.enqueue([message({ id: 'later' })]))[0]).toMatchObject({ ok: true });
      const leases = await backend.fetch({ queues: ['default'], max: 1_000, leaseMs: 1_000, waitMs: 0 });
      expect(leases).toHaveLength(stored.length + 1);
      await backend.close();
    }));

  it('that is read-only: READ_ONLY, with the path and the remedy', () =>
    withTmpfs('ro,size=1m', async (path) => {
      const error = errorOf(() => sqlite(join(path, 'queue.db')));
      expect(error).toMatchObject({
        code: 'READ_ONLY',
        message: expect.stringMatching(/Check the path and its owner/),
      });
      expect(error.message).toContain(path);
    }));
});
