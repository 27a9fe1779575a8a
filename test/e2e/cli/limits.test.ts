/** Limits on the command line: who has a slot, why a job waits, and a reset that asks first. */

import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { cli, imports, json, project } from './kit.ts';

const config = `${imports}
const sync = defineJob({
  name: 'shop.sync',
  payload: z.object({ customer: z.string() }),
  concurrency: { limit: 1, key: ({ customer }) => customer },
  async handle() {},
});
const mail = defineJob({
  name: 'mail.send',
  queue: 'mail',
  payload: z.object({}),
  rate: { limit: 100, perMs: 60_000 },
  async handle() {},
});
export const app = createApp({ jobs: [sync, mail], queues: { mail: { concurrency: { limit: 20 } } } });
export const backend = () => sqlite(import.meta.dirname + '/jobs.db');
`;

/** Two jobs of one customer: one has the slot, the other waits for it. */
async function shop(customer: string) {
  const cwd = project({ 'longshore.config.ts': config });
  const enqueue = async () =>
    (await json(cwd, ['enqueue', 'shop.sync', JSON.stringify({ customer })])).data!.id as string;
  const [holder, waiter] = [await enqueue(), await enqueue()];
  const key = `job:shop.sync:concurrency:${customer}`;
  const backend = sqlite(join(cwd, 'jobs.db'));
  const slot = { key, limit: 1, holdMs: 3_600_000, queue: 'default', rank: 0 };
  for (const id of [holder, waiter]) await backend.stores!.limits!.take([{ ...slot, holder: id, owner: id }]);
  await backend.close();
  return { cwd, key, holder, waiter };
}

describe('limits', () => {
  it('lists those in use beside those that the app declares', async () => {
    const { cwd, holder } = await shop('c-7');
    const { code, stdout } = await cli(cwd, ['limits']);
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        '       in use  waiting  held  limit',
        '0/100 in 60 s        0        job:mail.send:rate',
        '          1/1        1        job:shop.sync:concurrency:c-7',
        `    ${holder}`,
        '         0/20        0        queue:mail:concurrency',
        '',
        '3 limits.',
        '',
      ].join('\n'),
    );
    const { data } = await json(cwd, ['limits', 'job:shop']);
    expect(data).toMatchObject({ limits: [{ keyPart: 'c-7', used: 1, waiting: 1 }], next: null });
    expect((await cli(cwd, ['limits', 'nobody'])).stdout).toBe(
      'No job and no queue has a limit like this.\n',
    );
  });

  it('goes on where it has ended, whatever the characters of a key', async () => {
    const customer = `it's "a" \u001b[31m\u202e<b> مرحبا\n${'k'.repeat(230)}`;
    const { cwd, key } = await shop(customer);
    const backend = sqlite(join(cwd, 'jobs.db'));
    await backend.stores!.limits!.hold('pause:mail.send', Infinity);
    await backend.close();
    const all = await cli(cwd, ['limits', '--max', '1'], { isTTY: true, columns: 80 });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
    expect(all.stdout).not.toMatch(/\u001b\[31m|\u202e/);
    expect(all.stdout).toMatch(
      /, and there are more: the same with --after 'job:shop\.sync:concurrency:it'\\''s "a"/,
    );
    const { data } = await json(cwd, ['limits', '--max', '1']);
    expect(data).toMatchObject({ next: key });
    expect((await json(cwd, ['limits', '--after', key])).data).toMatchObject({
      limits: [
        { key: 'pause:mail.send', kind: 'pause', heldUntil: 'reset' },
        { key: 'queue:mail:concurrency' },
      ],
    });
  });
});

describe('limits reset', () => {
  it('asks, and frees the slots', async () => {
    const { cwd, key, waiter } = await shop('c-7');
    const refused = await cli(cwd, ['limits', 'reset', key]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/^CONFIRM: .*Add --yes/) });
    const terminal = new PassThrough();
    terminal.write('y\n');
    const done = await cli(cwd, ['limits', 'reset', key], { isTTY: true, terminal });
    expect(done.stderr).toContain(`${key}: 1 slot in use, 1 job waiting. Free it? [y/N]`);
    expect(done).toMatchObject({
      code: 0,
      stdout: `${key}  All slots are free, and the jobs that waited for it are ready.\n`,
    });
    const { data } = await json(cwd, ['jobs', 'show', waiter]);
    expect(data!.waits).toEqual([
      'no worker is running for queue default; only a function could take the job',
    ]);
    const again = await cli(cwd, ['limits', 'reset', key, '--yes']);
    expect(again).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^NOT_FOUND: Limit ".*" is not in use/),
    });
    const { entries } = (await json(cwd, ['audit'])).data as { entries: Record<string, unknown>[] };
    expect(entries[0]).toMatchObject({ action: 'limit.reset', target: key, phase: 'done', count: 1 });
  });
});

describe('jobs show', () => {
  it('says why a job waits', async () => {
    const { cwd, holder, waiter } = await shop('c-7');
    const why = `job shop.sync runs 1 at a time for key "c-7": 1 of 1 slots in use by job ${holder}`;
    const { stdout } = await cli(cwd, ['jobs', 'show', waiter]);
    expect(stdout).toContain(`\nwaits     ${why}; no worker is running`);
    expect((await json(cwd, ['jobs', 'show', waiter])).data!.waits).toContain(why);
    await cli(cwd, ['jobs', 'cancel', waiter]);
    expect((await cli(cwd, ['jobs', 'show', waiter])).stdout).not.toContain('waits');
  });
});
