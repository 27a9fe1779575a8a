/** A sender that is killed between its steps leaves one job, or none and a key that becomes free. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { connect, createApp } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { signing, work } from './sender.ts';

describe('a sender that is killed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-unique-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const script = join(import.meta.dirname, 'sender.ts');

  it.each([
    [1, 'the key is held', false],
    [2, 'the key is written', false],
    [3, 'the job is sent', true],
    [4, 'the key is held again', true],
    [5, 'all is done', true],
  ])('after step %i (%s) leaves room for one job', async (step, _, sent) => {
    const path = join(folder, `${step}.db`);
    const { signal, stdout } = spawnSync(process.execPath, [script, path, String(step)], {
      encoding: 'utf8',
    });
    expect({ signal, stdout }).toEqual({ signal: 'SIGKILL', stdout: '' });
    const clock: Clock = { ...systemClock, now: () => Date.now() + 31_000 };
    const app = createApp({ jobs: [work], signing, clock });
    const client = connect(app, sqlite({ path, clock }));
    const { id, duplicate } = await client.enqueue(work, 2);
    expect(duplicate ?? false).toBe(sent);
    expect(await client.enqueue(work, 3)).toEqual({ id, queue: 'default', duplicate: true });
    expect(await client.backend.admin!.stats('default')).toMatchObject([{ ready: 1 }]);
    await client.close();
  });
});
