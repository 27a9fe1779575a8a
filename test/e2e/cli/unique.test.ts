import { describe, expect, it } from 'vitest';
import { cli, json, project, shopConfig } from './kit.ts';

describe('enqueue of a unique job', () => {
  it('tells that an earlier one stands', async () => {
    const cwd = project({
      'longshore.config.ts': shopConfig.replace(
        "name: 'greet',",
        "name: 'greet', unique: { key: ({ name }) => name, during: 'waiting' },",
      ),
    });
    const argv = ['enqueue', 'greet', '{"name":"Ada"}'];
    const first = await json(cwd, argv);
    expect(first.data).not.toHaveProperty('duplicate');
    const second = await json(cwd, argv);
    expect(second.data).toEqual({ ...(first.data as object), duplicate: true });
    expect((await cli(cwd, argv)).stderr).toContain(
      'Note: this job is already enqueued, so nothing was added.',
    );
  });
});
