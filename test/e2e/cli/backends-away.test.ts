/** Command lines for a config with several backends, of which one does not answer. */

import { describe, expect, it } from 'vitest';
import { cli, json } from './kit.ts';
import { files, several } from './several-kit.ts';

describe('a config with several backends', () => {
  it('names one that is away, and shows the others', async () => {
    const postgres = new URL('../../../local/backends/postgres/index.ts', import.meta.url);
    const away = `async () => (await import('${postgres}')).postgres('postgres://127.0.0.1:1/none'),`;
    const folder = several(files.replace(/(?<=fast: ).+/, away));
    await cli(folder, ['enqueue', 'greet', '{"name":"Ada"}']);
    const silent = { backend: 'fast', code: 'BACKEND', message: expect.stringContaining('ECONNREFUSED') };
    const lists = [
      'status',
      'limits',
      'jobs list',
      'dead list',
      'dead groups',
      'workers',
      'batches',
      'audit',
    ];
    const others = ['metrics', 'schedule stored', 'schedule list --last', 'reap', 'purge'];
    for (const line of [...lists, ...others]) {
      const { code, data } = await json(folder, line.split(' '));
      expect([line, code, data!.unavailable]).toEqual([line, 1, [silent]]);
      const { stderr } = await cli(folder, line.split(' '));
      expect([line, stderr]).toEqual([line, expect.stringMatching(/^fast does not answer: BACKEND: /)]);
    }
    const [job] = (await json(folder, ['jobs', 'list'])).data!.jobs as { id: string }[];
    expect((await json(folder, ['jobs', 'show', job!.id.slice(0, 18)])).code).toBe(0);
    for (const line of [
      ['jobs', 'show', '0199a1b2-c3d4'],
      ['jobs', 'show', '0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'],
      ['limits', 'reset', 'none', '--yes'],
      ['workers', 'drain', 'none'],
      ['clear', 'none', '--yes'],
    ]) {
      const { code, stderr } = await cli(folder, line);
      expect([line, code, stderr]).toEqual([line, 1, expect.stringContaining('ECONNREFUSED')]);
    }
    expect((await json(folder, ['dead', 'discard', '--all', '--yes'])).data).toMatchObject({
      ...{ discarded: 0, unavailable: [silent] },
    });
    expect((await json(folder, ['clear', 'default', '--yes'])).data).toMatchObject({ removed: 1 });
    await cli(folder, ['enqueue', 'greet', '{"name":"Ada"}']);
    const { stdout, stderr } = await cli(folder, ['status']);
    expect(stdout).toMatch(/\ndefault +default +1 .+\n$/);
    expect(stderr).toMatch(/^fast does not answer: BACKEND: .*ECONNREFUSED.*\n$/);
    const health = await json(folder, ['health']);
    expect(health).toMatchObject({ code: 1 });
    expect(health.data!.checks).toContainEqual(
      expect.objectContaining({ backend: 'default', name: 'backend', ok: true }),
    );
  });
});
