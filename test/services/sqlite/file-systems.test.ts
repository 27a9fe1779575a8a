/** SQLite on a small file system of its own, for what only a real one can show. Only root may mount one. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { LongshoreError } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { errorOf } from './error-of.ts';
import { message } from './messages.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a file system', () => {
  async function withTmpfs(options: string, work: (path: string) => Promise<void>): Promise<void> {
    const path = mkdtempSync(join(folder, 'fs-'));
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
    if (mounted.status !== 0)
      throw new Error(
        `Expected to be able to mount a file system, got: ${mounted.stderr}. Run the tests as root on Linux.`,
      );
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
