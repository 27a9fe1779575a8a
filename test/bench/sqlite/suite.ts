import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sqlite as backendAt } from '../../../local/backends/sqlite/index.ts';
import { bundle, rss } from '../footprint.ts';
import { type Bench, suite } from '../kit/bench.ts';
import { groups as fairShares } from '../kit/groups.ts';
import { latency } from '../kit/latency.ts';
import { million } from '../kit/million.ts';
import { others, schedules } from '../kit/schedules.ts';
import { bulk, single } from '../kit/sending.ts';
import { backlog, core, deep, drain, history, numbers, workers } from '../kit/throughput.ts';
import { unlimited } from '../kit/unlimited.ts';

const groups = {
  drain,
  history,
  numbers,
  workers,
  bulk,
  single,
  latency,
  backlog,
  deep,
  million: async (bench: Bench) => {
    const backend = backendAt(join(bench.folder(), 'queue.db'));
    const rows = await million(bench, backend);
    await backend.close();
    return rows;
  },
  schedules: async (bench: Bench) => {
    const path = join(bench.folder(), 'queue.db');
    const backend = backendAt(path);
    const rows = await schedules(bench, backend, async () => {
      const db = new DatabaseSync(path);
      const insert = db.prepare("INSERT INTO texts (name, version, text) VALUES (?, 'filled', ?)");
      db.exec('BEGIN');
      for (const { name, nextAt, text } of others()) {
        insert.run(`schedule/${name}`, `${nextAt}\n${text}`);
        insert.run(`due/${String(nextAt).padStart(16, '0')}.${name}`, '0');
      }
      db.exec('COMMIT');
      db.close();
    });
    await backend.close();
    return rows;
  },
  groups: (bench: Bench) => fairShares(bench, async () => backendAt(join(bench.folder(), 'queue.db'))),
  unlimited,
  rss,
  core,
  bundle,
};

/** A file is all the service it needs. */
export const sqlite = suite(groups, async () => ({ stop: async () => {} }));
