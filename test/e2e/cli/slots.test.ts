/** `longshore work mail=4`: queues with slots of their own. */

import { describe, expect, it } from 'vitest';
import { cli, json, project } from './kit.ts';

describe('work', () => {
  it('gives queues slots of their own, and refuses what it cannot give', async () => {
    const cwd = project();
    await json(cwd, ['enqueue', 'greet', '{"name":"Ada"}', '--queue', 'mail']);
    const { stdout } = await cli(cwd, [
      'work',
      'mail=2',
      'default=3',
      '--drain',
      '--no-schedules',
      '--log',
      'json',
    ]);
    expect(stdout).toContain('"queues":["mail","default"],"concurrency":5');
    expect(stdout).toContain('"acked":1');
    const refused = async (...argv: string[]) =>
      (await cli(cwd, ['work', ...argv, '--no-schedules', '--drain'])).stderr;
    expect(await refused('mail=2', 'default')).toBe(
      'USAGE: Expected slots for every queue or for none, got none for "default". Write default=4, for example.\n',
    );
    expect(await refused('mail=2', 'mail=3')).toMatch(/^USAGE: Expected the slots of queue "mail" once\./);
    expect(await refused('mail=0')).toMatch(/Expected an integer from 1 to 10000\./);
    expect(await refused('mial=2')).toMatch(
      /^USAGE: The app does not declare queue "mial"\. Did you mean "mail"/,
    );
    expect(await refused('mail=4', 'default=4', '--concurrency', '6')).toMatch(
      /^CONFIG: The queues have 8 slots together, but concurrency of startWorker\(\) is 6\./,
    );
  });
});
