/** Dead letters on the command line: found, grouped, mended, retried with limits, and who did it. */

import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { until } from '../../kit/until.ts';
import { cli, imports, json, project } from './kit.ts';

const bank = `${imports}
const pay = defineJob({
  name: 'pay',
  payload: z.object({ invoice: z.string(), login: z.object({ user: z.string(), password: z.string() }).optional() }),
  retry: longshore.noRetry,
  handle({ invoice, login }) {
    if (login && login.password !== 'hunter2') throw new PermanentError('wrong password');
    if (/^bad/.test(invoice)) throw new PermanentError('no invoice ' + invoice.slice(3));
  },
});
const hurry = defineJob({ name: 'hurry', payload: z.object({}), expiresInMs: 1, handle() {} });
export const app = createApp({ jobs: [pay, hurry] });
export const backend = () => sqlite(import.meta.dirname + '/jobs.db');
`;

async function died(cwd: string, payloads: readonly unknown[]): Promise<string[]> {
  const ids: string[] = [];
  for (const payload of payloads)
    ids.push(String((await json(cwd, ['enqueue', 'pay', JSON.stringify(payload)])).data!.id));
  await cli(cwd, ['work', '--drain']);
  return ids;
}
const dead = async (cwd: string, ...argv: string[]) =>
  (
    (await json(cwd, ['dead', 'list', ...argv])).data!.deadLetters as { id: string; fingerprint: string }[]
  ).map(({ id }) => id);

describe('dead letters', () => {
  it('are grouped, and a group is retried', async () => {
    const cwd = project({ 'longshore.config.ts': bank });
    await died(cwd, [
      ...[1, 2, 3].map((n) => ({ invoice: `bad${n}` })),
      { invoice: 'x', login: { user: 'a', password: 'b' } },
    ]);
    const { stdout } = await cli(cwd, ['dead', 'groups'], { isTTY: true, columns: 80 });
    for (const line of stdout.split('\n'))
      expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(80);
    expect(stdout).toMatch(/2 groups of 4 dead letters\./);
    const { groups } = (await json(cwd, ['dead', 'groups'])).data as {
      groups: { fingerprint: string; count: number }[];
    };
    expect(groups.map(({ count }) => count)).toEqual([3, 1]);
    const one = groups[1]!.fingerprint;
    expect(await dead(cwd, '--group', one)).toHaveLength(1);
    const retry = ['dead', 'retry', '--group', one];
    expect(await json(cwd, [...retry, '--dry-run'])).toMatchObject({
      code: 0,
      data: { retried: 0, dryRun: true, would: 1 },
    });
    expect(await json(cwd, retry)).toMatchObject({ code: 0, data: { retried: 1 } });
    expect(await dead(cwd, '--error', 'invoice')).toHaveLength(3);
    expect(await cli(cwd, ['dead', 'list', '--error', 'nothing of this'])).toMatchObject({
      stdout: 'No such dead letters.\n',
    });
  });

  it('are listed in pages that say how many there are', async () => {
    const cwd = project({ 'longshore.config.ts': bank });
    const ids = await died(
      cwd,
      [1, 2, 3, 4, 5].map((n) => ({ invoice: `bad${n}` })),
    );
    const { stdout } = await cli(cwd, ['dead', 'list', '--max', '2']);
    const [, after] = /\n2 of 5 dead letters, newest first\. Older ones: the same with --after (\S+)\n$/.exec(
      stdout,
    )!;
    const first = await dead(cwd, '--max', '2');
    const rest = await dead(cwd, '--after', after!);
    expect([...first, ...rest].toSorted()).toEqual(ids.toSorted());
    expect((await cli(cwd, ['dead', 'list', '--after', 'nonsense'])).code).toBe(2);
  });

  it('say when a piece of their steps is missing, also as jobs', async () => {
    const cwd = project({ 'longshore.config.ts': bank });
    const [id = ''] = await died(cwd, [{ invoice: 'bad7' }]);
    for (const command of ['dead', 'jobs'])
      expect((await cli(cwd, [command, 'show', id])).stdout).not.toContain('Some steps are not shown');
    const backend = sqlite(join(cwd, 'jobs.db'));
    const pieces = [['one', 'a digest', 100]];
    const steps = { steps: [], pieces, gone: [], next: null, named: 1, keptUntil: 1e15 };
    const text = JSON.stringify({ owner: 'o', attempt: 1, leaseUntil: 1, steps });
    await backend.stores!.steps!.write(`job:${id}`, text, null, 1e15);
    await backend.close();
    const problem = `Some steps are not shown. The stored text "piece:${id}:one" does not verify`;
    for (const command of ['dead', 'jobs']) {
      const { code, stdout } = await cli(cwd, [command, 'show', id]);
      expect(code).toBe(0);
      expect(stdout.replace(/\s+/g, ' ')).toContain(`steps ${problem}`);
    }
    expect(JSON.stringify(await json(cwd, ['dead', 'show', id]))).toContain('stepsProblem');
    expect(await json(cwd, ['jobs', 'show', id])).toMatchObject({
      data: { stepsProblem: expect.stringContaining(problem) },
    });
  });

  it('are mended: checked, signed, and run with what was masked', async () => {
    const cwd = project({ 'longshore.config.ts': bank });
    const [id] = await died(cwd, [{ invoice: 'bad7', login: { user: 'ann', password: 'hunter2' } }]);
    const shown = await cli(cwd, ['dead', 'show', id!.slice(0, 18)]);
    expect(shown.stdout).toContain('{"invoice":"bad7","login":{"user":"ann","password":"[masked]"}}');
    expect(shown.stdout).toMatch(/^editable +yes/m);
    const edit = (payload: string, ...more: string[]) =>
      cli(cwd, ['dead', 'edit', id!.slice(0, 18), '--payload', payload, ...more]);
    expect(await edit('{"invoice":7}')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^PAYLOAD: .*invoice/),
    });
    writeFileSync(join(cwd, 'mended.json'), '{"invoice":"7","login":{"user":"ann","password":"[masked]"}}');
    expect(await edit('@mended.json', '--dry-run')).toMatchObject({ code: 0 });
    expect(await dead(cwd)).toEqual([id]);
    expect(await edit('@mended.json')).toMatchObject({ code: 0, stderr: '' });
    await cli(cwd, ['work', '--drain']);
    expect(await json(cwd, ['jobs', 'show', id!])).toMatchObject({ data: { job: { status: 'completed' } } });
    expect(await edit('{"invoice":"8"}')).toMatchObject({ code: 3 });
  });

  it.each([
    ['of another key', `third:${Buffer.alloc(32, 9).toString('base64')}`],
    ['without a key', ''],
  ])('are shown and not edited %s', async (_, keys) => {
    const cwd = project({ 'longshore.config.ts': bank, 'other.config.ts': bank });
    const [id] = await died(cwd, [{ invoice: 'bad1' }]);
    const own = process.env.LONGSHORE_SIGNING_KEYS;
    onTestFinished(() => {
      process.env.LONGSHORE_SIGNING_KEYS = own;
    });
    process.env.LONGSHORE_SIGNING_KEYS = keys;
    const other = ['--config', 'other.config.ts'];
    const shown = await cli(cwd, ['dead', 'show', id!, ...other]);
    expect(shown).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/editable +It does not verify here/),
    });
    expect(shown.stdout).not.toContain('payload');
    const edited = await cli(cwd, ['dead', 'edit', id!, '--payload', '{"invoice":"1"}', ...other]);
    expect(edited).toMatchObject({ code: 1, stderr: expect.stringContaining('It does not verify here') });
    expect(await dead(cwd, ...other)).toEqual([id]);
    expect(await json(cwd, ['dead', 'retry', id!, ...other])).toMatchObject({ data: { retried: 1 } });
  });

  it('that have expired are retried with a new expiry', async () => {
    const cwd = project({ 'longshore.config.ts': bank });
    const { id } = (await json(cwd, ['enqueue', 'hurry', '{}'])).data!;
    await new Promise((resolve) => setTimeout(resolve, 5));
    await cli(cwd, ['work', '--drain']);
    expect(await json(cwd, ['dead', 'retry', '--all'])).toMatchObject({
      code: 1,
      data: { retried: 0, refused: [{ id, why: expect.stringContaining('--expires-in') }] },
    });
    expect(await json(cwd, ['dead', 'retry', String(id), '--expires-in', '1h'])).toMatchObject({
      code: 0,
      data: { retried: 1, refused: [] },
    });
  });

  it('go out up to a limit, and stop when they fail again', async () => {
    const many = bank.replace(
      'export const backend',
      `const inner = memory();
       await longshore.connect(app, inner).enqueueMany(pay, Array.from({ length: 30 }, (_, i) => ({ invoice: 'bad' + i })));
       await longshore.startWorker(app, { backend: inner, untilIdle: true }).done;
       const deadLetters = {
         ...inner.admin.deadLetters,
         async retry(ids) {
           const count = await inner.admin.deadLetters.retry(ids);
           await longshore.startWorker(app, { backend: inner, untilIdle: true }).done;
           return count;
         },
       };
       const unused`,
    );
    const backend = 'export const backend = { ...inner, admin: { ...inner.admin, deadLetters } };';
    const cwd = project({ 'longshore.config.ts': `${many}\n${backend}` });
    const stopped = await cli(cwd, ['dead', 'retry', '--all', '--stop-above', '50']);
    expect(stopped).toMatchObject({
      code: 1,
      stdout: '10 dead letters retried. Stopped: 10 of 10 that ran again failed again.\n',
    });
    expect(await cli(cwd, ['dead', 'retry', '--all', '--max', '4'])).toMatchObject({
      code: 0,
      stdout: '4 dead letters retried. There are more.\n',
    });
  });
});

describe('a question about many', () => {
  async function answer(cwd: string, argv: readonly string[], ...lines: readonly string[]) {
    const terminal = new PassThrough();
    for (const line of lines) terminal.write(`${line}\n`);
    return cli(cwd, argv, { isTTY: true, terminal });
  }

  it('is answered with how many they are, and asked for a filter too', async () => {
    const cwd = project({ 'longshore.config.ts': bank });
    await died(
      cwd,
      Array.from({ length: 101 }, (_, n) => ({ invoice: `bad${n}` })),
    );
    for (const [verb, words] of [
      ['retry', 'Retry 101 dead letters?'],
      ['discard', 'Remove 101 dead letters for good?'],
    ] as const) {
      const refused = await answer(cwd, ['dead', verb, '--job', 'pay'], 'y');
      expect(refused.stderr).toContain(`${words} Type 101 to confirm: `);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
    }
    expect(await dead(cwd, '--max', '200')).toHaveLength(101);
    const some = await answer(cwd, ['dead', 'retry', '--job', 'pay', '--max', '2'], 'y');
    expect(some.stderr).toContain('Retry 2 dead letters? [y/N] ');
    expect(some.stdout).toContain('2 dead letters retried.');
    const rest = await answer(cwd, ['dead', 'discard', '--all', '--max', '99'], 'y');
    expect(rest.stdout).toContain('99 dead letters discarded.');
    expect(await dead(cwd)).toEqual([]);
  });
});

describe('audit', () => {
  it('says who did what, how often and from where', async () => {
    const cwd = project({ 'longshore.config.ts': bank });
    const [id] = await died(cwd, [{ invoice: 'bad1' }]);
    const env = { LONGSHORE_ACTOR: 'ann' };
    expect((await cli(cwd, ['audit'])).stdout).toBe('The audit log is empty.\n');
    await cli(cwd, ['dead', 'retry', '--all', '--job', 'pay'], { env });
    await cli(cwd, ['pause', 'default'], { env });
    await cli(cwd, ['jobs', 'run-again', id!], { env });
    const { entries } = (await json(cwd, ['audit'])).data as { entries: Record<string, unknown>[] };
    const by = { actor: 'ann', from: `cli ${hostname()}` };
    expect(entries.map(({ action, phase }) => `${action} ${phase}`)).toEqual([
      'job.run-again done',
      'job.run-again begun',
      'queue.pause done',
      'queue.pause begun',
      'dead.retry done',
      'dead.retry begun',
    ]);
    expect(entries.at(-2)).toMatchObject({ ...by, target: 'all with job "pay"', count: 1 });
    const { stdout } = await cli(cwd, ['audit', '--max', '1'], { isTTY: true, columns: 80 });
    expect(stdout).toMatch(/1 line, and older ones: the same with --after\s\S+\n$/);
  });

  it('is refused where none is kept', async () => {
    const bare = bank.replace(
      /export const backend.*/,
      `const { stores: { audit, texts, ...stores }, ...rest } = memory(); export const backend = { ...rest, stores };`,
    );
    const cwd = project({ 'longshore.config.ts': bare });
    expect(await cli(cwd, ['audit'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('keeps no audit log'),
    });
  });
});

describe('schedules and workers', () => {
  it('are paused, resumed and drained, and both are in the log', async () => {
    const scheduled = bank.replace(
      'jobs: [pay, hurry]',
      `jobs: [pay, hurry], schedules: [defineSchedule({ name: 'often', everyMs: 1_000, job: hurry, payload: {} })]`,
    );
    const cwd = project({ 'longshore.config.ts': scheduled });
    expect((await cli(cwd, ['schedule', 'pause', 'often'])).stdout).toMatch(/^often is paused/);
    expect((await cli(cwd, ['schedule', 'list'])).stdout).toMatch(/often/);
    expect(await json(cwd, ['schedule', 'resume', 'often'])).toMatchObject({ data: { paused: false } });
    expect(await cli(cwd, ['schedule', 'pause', 'oftn'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('Did you mean "often"?'),
    });
    expect(await cli(cwd, ['workers', 'drain', 'app-1:1'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('There is no worker "app-1:1" here.'),
    });
    const stop = new AbortController();
    const working = cli(cwd, ['work', '--no-schedules'], { hungUp: stop.signal });
    await until(async () => ((await json(cwd, ['workers'])).data!.workers as unknown[]).length > 0);
    const name = `${hostname().split('.', 1)[0]}:${process.pid}`;
    expect((await cli(cwd, ['workers', 'drain', name])).stdout).toBe(
      `${name}  At its next heartbeat it stops taking jobs. It stops when its running jobs have ended.\n`,
    );
    stop.abort();
    await working;
    const { entries } = (await json(cwd, ['audit'])).data as { entries: Record<string, unknown>[] };
    expect(entries.filter(({ phase }) => phase === 'done').map(({ action }) => action)).toEqual([
      'worker.drain',
      'schedule.resume',
      'schedule.pause',
    ]);
  });
});
