/** One job that kills its process, among healthy ones, on a worker that is started again each time. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { poisonApp } from './poison-app.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-poison-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const jobs = 10;

it('a job that kills its worker takes no other job to the dead letters', async () => {
  const path = join(folder, 'queue.db');
  const { client, job, backend } = poisonApp(path);
  for (let n = 0; n < jobs; n++) await client.enqueue(job, { n });
  const stats = async () => (await backend.admin!.stats('poison'))[0]!;
  for (let open = jobs, starts = 0; open > 0; starts++) {
    expect(starts).toBeLessThan(60);
    const child = spawn(process.execPath, [join(import.meta.dirname, 'poison-app.ts'), path], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    await once(child, 'exit');
    const { ready, delayed, leased } = await stats();
    open = ready + delayed + leased;
  }
  const letters = await backend.admin!.deadLetters.list({});
  expect(letters).toMatchObject([
    { reason: 'crash-loop', error: expect.stringContaining("isolate: 'process'") },
  ]);
  await backend.close();
}, 120_000);
