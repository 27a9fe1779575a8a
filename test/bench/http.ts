/**
 * `node test/bench/http.ts [requests per second] [seconds] [sqlite|memory]`: enqueues over HTTP on loopback while a
 * worker of the same process runs the jobs, and fails when one is lost. Sender, server and worker share one event loop.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memory } from '../../local/backends/memory/index.ts';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { load } from './kit/load.ts';

const [perSecond = 2_000, seconds = 30] = process.argv.slice(2, 4).map(Number);
const kind = process.argv[4] ?? 'sqlite';
const folder = mkdtempSync(join(tmpdir(), 'longshore-http-'));
const backend = kind === 'memory' ? memory() : sqlite(join(folder, 'jobs.db'));
try {
  const result = await load({ backend, requests: perSecond * seconds, perSecond, connections: 64 });
  console.log({
    backend: kind,
    perSecond,
    seconds,
    ...result,
    answeredPerSecond: Math.round(result.asked / result.sendSeconds),
  });
  const { asked, accepted, stored, run } = result;
  if (accepted !== asked || stored !== asked || run !== asked) {
    console.error(`Lost: of ${asked} requests ${accepted} were accepted, ${stored} stored, ${run} run.`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
