/** An event from the command line, for a job that waits in a file. */

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { cli, imports, json, project } from './kit.ts';

const config = `${imports}
const pack = defineJob({
  name: 'pack',
  payload: z.object({ order: z.string() }),
  handle: async ({ order }, ctx) => (await ctx.waitFor('packed', { key: order, timeoutMs: '1d' }))?.payload,
});
export const app = createApp({ jobs: [pack] });
export const backend = () => sqlite(import.meta.dirname + '/jobs.db');
`;

it('wakes the jobs that wait for it, and is in the audit log without its payload', async () => {
  const cwd = project({ 'longshore.config.ts': config });
  const id = (await json(cwd, ['enqueue', 'pack', '{"order":"1042"}'])).data!.id as string;
  const work = () => cli(cwd, ['work', '--drain']);
  const args = ['emit', 'packed', '--key', '1042', '--payload', '{"by":"Anna"}'];
  expect((await json(cwd, args)).data).toEqual({ event: 'packed', key: '1042', reached: 0 });
  await work();
  const why = 'waits for event packed with key "1042", until 20';
  expect((await cli(cwd, ['jobs', 'list'])).stdout).toContain(why);
  expect((await json(cwd, ['jobs', 'list'])).data!.jobs).toMatchObject([
    { id, status: 'pending', sleeps: expect.stringContaining(why) },
  ]);
  const { code, stdout } = await cli(cwd, args);
  expect([code, stdout]).toEqual([0, 'packed has reached 1 job.\n']);
  await work();
  const backend = sqlite(join(cwd, 'jobs.db'));
  expect((await backend.stores!.records.get(id))?.output).toEqual({ by: 'Anna' });
  const { entries } = await backend.stores!.audit!.page({});
  expect(entries[0]).toMatchObject({
    ...{ action: 'event.emit', target: 'packed with key "1042"', phase: 'done', count: 1 },
  });
  expect(JSON.stringify(entries)).not.toContain('Anna');
  await backend.close();
  for (const [wrong, text] of [
    [['two words'], 'two words'],
    [['packed', '--payload', '{'], 'Expected the payload as JSON'],
    [['packed', '--key', ''], 'the key of event "packed" to be a text of 1 to 256'],
    [['packed', '--keep', '40d'], '30 days'],
  ] as const) {
    const result = await cli(cwd, ['emit', ...wrong]);
    expect([wrong, result.code]).toEqual([wrong, 2]);
    expect(result.stderr).toContain(text);
  }
});
