/** A job that fails shows its author where, in the log of a worker and afterwards. */

import { describe, expect, it } from 'vitest';
import { cli, imports, project } from './kit.ts';

const files = {
  'lib/customers.ts': `export function lookUp(id: number) {
  throw new TypeError('no such customer', { cause: new Error('row ' + id) });
}
`,
  'longshore.config.ts': `${imports}
import { lookUp } from './lib/customers.ts';
const pay = defineJob({
  name: 'pay',
  payload: z.object({ id: z.number() }),
  maxRetries: 0,
  async handle({ id }) {
    lookUp(id);
  },
});
export const app = createApp({ jobs: [pay] });
export const backend = () => sqlite(import.meta.dirname + '/jobs.db');
`,
};

const frames =
  /\n {6}TypeError\n {4}→ at lookUp \(lib\/customers\.ts:2:9\)\n {6}at handle \(longshore\.config\.ts:14:5\)\n {6}caused by Error: row 7\n {6}at lookUp \(lib\/customers\.ts:2:\d+\)\n/;

describe('a job that fails', () => {
  it('prints its stack in the readable log, and has it in the other one', async () => {
    const cwd = project(files);
    await cli(cwd, ['enqueue', 'pay', '{"id":7}']);
    const { stdout } = await cli(cwd, ['work', '--once', '--log', 'pretty']);
    expect(stdout).toMatch(/✗ pay +dead-lettered \(exhausted\): no such customer\n/);
    expect(stdout).toMatch(frames);
    expect(stdout.match(/no such customer/g)).toHaveLength(1);
    await cli(cwd, ['dead', 'retry', '--all']);
    const lines = (await cli(cwd, ['work', '--once', '--log', 'json'])).stdout.trim().split('\n');
    const settled = lines.map((line) => JSON.parse(line)).find(({ event }) => event === 'job.settled');
    expect(settled.stack).toMatch(/customers\.ts:2:9.*caused by: Error: row 7/s);
  });

  it('shows when it begins, for those who ask', async () => {
    const cwd = project(files);
    const logOf = async (...flags: string[]) => {
      await cli(cwd, ['enqueue', 'pay', '{"id":7}']);
      return (await cli(cwd, ['work', '--once', ...flags])).stdout;
    };
    expect(await logOf('--log', 'pretty')).not.toContain('started');
    expect(await logOf('--log', 'pretty', '--log-level', 'debug')).toMatch(/▹ pay +started, attempt 1\n/);
    expect(await logOf('--log', 'json', '--log-level', 'debug')).toContain('"event":"job.started"');
    expect(await logOf('--log', 'json', '--log-level', 'error')).not.toMatch(
      /worker\.started|"level":[1-4]0/,
    );
  });

  it('keeps its stack for `dead show`', async () => {
    const cwd = project(files);
    await cli(cwd, ['enqueue', 'pay', '{"id":7}']);
    await cli(cwd, ['work', '--once']);
    const [{ id }] = JSON.parse((await cli(cwd, ['dead', 'list', '--json'])).stdout).deadLetters;
    expect(`${(await cli(cwd, ['dead', 'show', id])).stdout}\n`).toMatch(frames);
    const { deadLetter } = JSON.parse((await cli(cwd, ['dead', 'show', id, '--json'])).stdout);
    expect(deadLetter.stack).toMatch(
      /^TypeError: no such customer\n {4}at lookUp .*\ncaused by: Error: row 7\n/s,
    );
  });
});
