/** What `longshore doctor` finds in a file of SQLite: each check fires where it should, and says nothing of a file that is right. */

import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { networkFileSystem, quickCheck } from '../../../local/backends/sqlite/diagnose.ts';
import { type SqliteOptions, sqlite, sqliteStore } from '../../../local/backends/sqlite/index.ts';
import { lookedAt, request } from '../diagnoses.ts';
import { message } from './messages.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-doctor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const opened: QueueBackend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

let files = 0;
const newFile = () => join(folder, `jobs-${++files}.db`);

function open(options: Partial<SqliteOptions> = {}) {
  const { path = newFile() } = options;
  const backend = sqlite({ path, synchronous: 'FULL', ...options });
  opened.push(backend);
  return { path, backend, looked: (keysKeptMs = 0) => lookedAt(backend.admin!, request({ keysKeptMs })) };
}

describe('a file of SQLite', () => {
  it('that is right is told nothing, and every check is made', async () => {
    expect(await open().looked()).toEqual({ found: {}, notChecked: {} });
    const store = sqliteStore({ path: newFile(), synchronous: 'FULL' });
    expect(await lookedAt(store)).toEqual({ found: {}, notChecked: {} });
    await store.close();
  });

  it('that is in memory is told so', async () => {
    expect((await open({ path: ':memory:' }).looked()).found).toEqual({
      'sqlite.journal': [expect.objectContaining({ text: expect.stringMatching(/end with this process/) })],
    });
  });

  it('that may lose its last moments in a power cut is told so', async () => {
    expect((await open({ synchronous: 'NORMAL' }).looked()).found).toEqual({
      'sqlite.synchronous': [expect.objectContaining({ severity: 'note' })],
    });
  });

  it('that keeps records for less long than keys is told so', async () => {
    const { looked } = open({ retention: { completedMs: 1 } });
    expect((await looked()).found).toEqual({});
    expect(Object.keys((await looked(86_400_000)).found)).toEqual(['sqlite.retention']);
  });

  it('whose log cannot be folded in, because somebody reads, is told so', async () => {
    const { backend, path, looked } = open({ synchronous: 'NORMAL' });
    const reader = new DatabaseSync(path);
    reader.exec('BEGIN; SELECT count(*) FROM jobs');
    const body = 'x'.repeat(1_000_000);
    const many = Array.from({ length: 70 }, (_, i) => message({ id: `m${i}`, body }));
    await backend.enqueue(many);
    const { found } = await looked();
    expect(found['sqlite.wal']).toEqual([
      expect.objectContaining({ where: `${path}-wal`, text: expect.stringMatching(/^It has \d\d MB/) }),
    ]);
    reader.close();
  });

  it('that is damaged is told so', async () => {
    const { path, backend } = open();
    const many = Array.from({ length: 200 }, (_, i) => message({ id: `m${i}`, body: 'x'.repeat(2_000) }));
    await backend.enqueue(many);
    await backend.close();
    const file = openSync(path, 'r+');
    writeSync(
      file,
      Buffer.alloc(65_536, 0xa5),
      0,
      65_536,
      Math.floor(statSync(path).size / 2 / 4_096) * 4_096,
    );
    closeSync(file);
    const { found } = await open({ path }).looked();
    expect(found['sqlite.integrity']).toEqual([
      expect.objectContaining({ where: path, text: expect.stringMatching(/^quick_check found: /) }),
    ]);
  });

  it('that takes too long to be read is said not to be checked', async () => {
    const { path } = open();
    expect(await quickCheck(path, 1)).toEqual({ because: expect.stringMatching(/longer than 0.001 s/) });
  });

  it('on a network share is told so, by what the system calls it', () => {
    expect([0x6969, -11317950, 0x65735546].map(networkFileSystem)).toEqual(['NFS', 'CIFS', 'FUSE']);
    expect(networkFileSystem(0xef53)).toBeNull(); // ext4
  });
});

describe('a disk', () => {
  it.each([
    ['8m', 'error'],
    ['500m', 'warning'],
  ])('of %s is told to be nearly full: %s', async (size, severity) => {
    const path = mkdtempSync(join(folder, 'disk-'));
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path]);
    if (mounted.status !== 0)
      throw new Error(
        `Expected to be able to mount a file system, got: ${mounted.stderr}. Run the tests as root on Linux.`,
      );
    try {
      const { backend, looked } = open({ path: join(path, 'jobs.db') });
      expect((await looked()).found).toEqual({
        'sqlite.disk': [expect.objectContaining({ where: path, severity })],
      });
      await backend.close();
    } finally {
      spawnSync('umount', ['-l', path]);
    }
  });
});
