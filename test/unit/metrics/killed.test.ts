import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sums } from '../../../core/features/metrics/roll-up.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';

it('a worker that is killed loses the numbers since its last flush, and no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-killed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'jobs.db');
  const program = join(import.meta.dirname, 'killed-program.ts');
  const { signal, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', program, path],
    { encoding: 'utf8', timeout: 60_000, killSignal: 'SIGTERM' },
  );
  expect([signal, stderr]).toEqual(['SIGKILL', '']);
  const backend = sqlite(path);
  const rows = await backend.stores!.metrics!.read({ step: 'minute', from: 0, to: Number.MAX_SAFE_INTEGER });
  expect([...sums(rows).values()].map(({ job, tally }) => [job, tally.done])).toEqual([['quick', 50]]);
  const records = (await backend.stores!.records.page({ status: 'completed', max: 100 })).records;
  expect(records.length, 'the jobs themselves are done').toBe(80);
  await backend.close();
});
