import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { keptAsUsual } from '../../../local/backends/sqlite/schema.ts';
import { message } from './messages.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'longshore-processes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const drain = async (path: string, batch: number): Promise<string[]> => {
  const script = join(import.meta.dirname, 'claimer.ts');
  const args = ['--disable-warning=ExperimentalWarning', script, path, String(batch)];
  const { stdout } = await run(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout);
};

describe('several processes on one file', () => {
  it('give every message to exactly one of them', { timeout: 120_000 }, async () => {
    const path = join(folder, 'shared.db');
    const backend = sqlite(path);
    const bodies = Array.from({ length: 20_000 }, (_, i) => `body ${i}`);
    await backend.enqueue(bodies.map((body, i) => message({ id: `m${i}`, body })));
    const taken = await Promise.all([drain(path, 1), drain(path, 7), drain(path, 50)]);
    expect(taken.flat().sort()).toEqual([...bodies].sort());
    await backend.close();
  });

  it('may make the file together', { timeout: 120_000 }, async () => {
    const path = join(folder, 'deep', 'new.db');
    const taken = await Promise.all(Array.from({ length: 6 }, () => drain(path, 1)));
    expect(taken).toEqual([[], [], [], [], [], []]);
  });

  it('see a message of another one within a few polls', async () => {
    const path = join(folder, 'seen.db');
    const [one, other] = [sqlite(path), sqlite(path)];
    const waiting = one.fetch({ queues: ['default'], max: 1, leaseMs: 1_000, waitMs: 10_000 });
    await other.enqueue([message({ id: 'm' })]);
    expect(await waiting).toHaveLength(1);
    await one.close();
    await other.close();
  });
});

describe('the file', () => {
  it('keeps everything over a restart, leases included', async () => {
    const path = join(folder, 'restart.db');
    const first = sqlite(path);
    await first.enqueue([message({ id: 'a', body: 'A' }), message({ id: 'b', body: 'B' })]);
    const [lease] = await first.fetch({ queues: ['default'], max: 1, leaseMs: 30_000, waitMs: 0 });
    await first.admin!.setPaused('other', true);
    await first.close();
    const second = sqlite(path);
    expect(await second.admin!.stats()).toMatchObject([
      { queue: 'default', ready: 1, leased: 1 },
      { queue: 'other', paused: true },
    ]);
    expect(await second.ack([{ lease: lease! }])).toEqual([true]);
    await second.close();
  });

  it.each(['NORMAL', 'FULL'] as const)(
    'is a WAL database that works with synchronous %s',
    async (synchronous) => {
      const path = join(folder, `${synchronous}.db`);
      const backend = sqlite({ path, synchronous });
      await backend.enqueue([message({ id: 'a' })]);
      const db = new DatabaseSync(path);
      expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
      db.close();
      expect((await backend.fetch({ queues: ['default'], max: 5, leaseMs: 1_000, waitMs: 0 })).length).toBe(
        1,
      );
      await backend.close();
    },
  );

  it('answers every question of a fetch from an index, also with 100,000 messages', async () => {
    const path = join(folder, 'plan.db');
    await sqlite(path).close();
    const db = new DatabaseSync(path);
    const plan = (sql: string) =>
      db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map((row) => row.detail)
        .join('; ');
    expect(plan("SELECT seq FROM ready WHERE queue = 'q' ORDER BY rank, seq LIMIT 5")).toBe(
      'SEARCH ready USING PRIMARY KEY (queue=?)',
    );
    expect(plan("DELETE FROM ready WHERE queue = 'q' AND (rank, seq) <= (5, 5)")).toBe(
      'SEARCH ready USING PRIMARY KEY (queue=? AND (rank,seq)<(?,?))',
    );
    expect(plan("SELECT ready_at FROM delayed WHERE queue = 'q' ORDER BY ready_at LIMIT 1")).toBe(
      'SEARCH delayed USING PRIMARY KEY (queue=?)',
    );
    expect(
      plan(`SELECT seq FROM jobs WHERE ${keptAsUsual} AND ended IN (2, 4) AND finished_at <= 5`),
    ).toContain('jobs_ended (ended=? AND finished_at<?)');
    expect(plan('SELECT seq FROM jobs WHERE keep_until <= 5')).toContain('jobs_kept (keep_until<?)');
    db.close();
  });
});
