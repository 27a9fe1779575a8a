import { describe, expect, it } from 'vitest';
import { cli, imports, json, project } from './kit.ts';

const config = (backend: string): string => `${imports}
const payload = z.any();
const pay = defineJob({ name: 'pay', payload, transaction: true, handle() {} });
const index = defineJob({ name: 'index', queue: 'quiet', payload, debounce: { key: () => 'k', waitMs: 1000 }, handle() {} });
const db = defineJob({ name: 'db', backend: 'db', payload, handle() {} });
export const app = createApp({ jobs: [pay, index, ...(${backend.includes('db:')} ? [db] : [])], queues: { quiet: { order: 'group' } } });
export const backend = ${backend};
`;

describe('longshore check', () => {
  it('lists what the backend of the config cannot do, needs no key, and exits with 1', async () => {
    const cwd = project({ 'longshore.config.ts': config('memory()') });
    const { code, stdout } = await cli(cwd, ['check'], { env: { LONGSHORE_SIGNING_KEYS: '' } });
    expect(code).toBe(1);
    expect(stdout).toContain('job "pay"');
    expect(stdout).toContain(
      'Job "pay" has a transaction, but backend "memory" offers none. Run it on postgres().',
    );
    expect(stdout).not.toContain('index');
  });

  it.each([
    ['sqs', ['pay transaction', 'index debounce']],
    ['servicebus', ['pay transaction', 'index debounce', 'quiet order']],
    ['beanstalkd', ['pay transaction', 'index debounce', 'quiet order']],
    ['redis', ['pay transaction']],
    ['postgres', []],
  ])('lists what %s could not do, which the app may move to', async (kind, expected) => {
    const cwd = project({ 'longshore.config.ts': config('memory()') });
    const { code, data } = await json(cwd, ['check', '--backend', kind]);
    const { backends, unmet } = data as { backends: string[]; unmet: { of: string; feature: string }[] };
    expect(backends).toEqual([kind]);
    expect(unmet.map(({ of, feature }) => `${of.split('"')[1]} ${feature}`)).toEqual(expected);
    expect(code).toBe(expected.length > 0 ? 1 : 0);
  });

  it('looks at the jobs of each backend, and of the one that is named', async () => {
    const cwd = project({ 'longshore.config.ts': config('{ default: memory(), db: memory() }') });
    const all = await json(cwd, ['check']);
    expect(all.data).toMatchObject({
      backends: ['default', 'db'],
      unmet: [{ backend: 'default', of: 'job "pay"' }],
    });
    const one = await cli(cwd, ['check', '--backend', 'db']);
    expect([one.code, one.stdout.trim()]).toEqual([0, 'db can do all that the app asks for.']);
  });

  it('knows no other', async () => {
    const cwd = project({ 'longshore.config.ts': config('memory()') });
    const { code, stderr } = await cli(cwd, ['check', '--backend', 'sq']);
    expect(code).toBe(2);
    expect(stderr).toContain(
      'Expected --backend to be one of memory, sqlite, postgres, redis, beanstalkd, sqs, servicebus, got "sq".',
    );
  });
});
