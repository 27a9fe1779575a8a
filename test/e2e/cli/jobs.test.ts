import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { columnsOf } from '../../../local/cli/output/ui.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { cli, json, project, shopConfig } from './kit.ts';

interface Listed {
  readonly jobs: {
    readonly id: string;
    readonly idempotencyKey: string | null;
    readonly attempts: object[];
  }[];
  readonly next: string | null;
}

/** Three greetings, one of them with a key, and a mail that dies; all have run. */
async function ran(): Promise<{ cwd: string; list: (line: string) => Promise<Listed> }> {
  const cwd = project();
  for (const name of ['Ada', 'Bob', 'Eve'])
    await cli(cwd, [
      'enqueue',
      'greet',
      JSON.stringify({ name }),
      ...(name === 'Ada' ? ['--key', 'order 1'] : []),
    ]);
  await cli(cwd, ['enqueue', 'mail.send', '{"to":"nobody"}']);
  await cli(cwd, ['work', '--drain', '--no-schedules']);
  const list = async (line: string) => {
    const { data } = await json(cwd, ['jobs', 'list', ...line.split('|')]);
    return data as unknown as Listed;
  };
  return { cwd, list };
}

describe('jobs pause', () => {
  it('keeps jobs of the name from running, and status says so, until they are resumed', async () => {
    const cwd = project();
    expect(await cli(cwd, ['jobs', 'pause', 'greet'])).toMatchObject({
      code: 0,
      stdout:
        'greet is paused: running jobs end, and no other starts after 5 s. Go on with: longshore jobs resume greet\n',
    });
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    await cli(cwd, ['enqueue', 'mail.send', '{"to":"Ada"}']);
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    const statuses = async () => {
      const { data } = await json(cwd, ['jobs', 'list']);
      const { jobs } = data as unknown as { jobs: { job: string; status: string }[] };
      return Object.fromEntries(jobs.map(({ job, status }) => [job, status]));
    };
    expect(await statuses()).toEqual({ greet: 'pending', 'mail.send': 'completed' });
    const { stdout } = await cli(cwd, ['status']);
    expect(stdout).toMatch(/\n\njob +state +waiting\ngreet +paused +1\n$/);
    expect(await json(cwd, ['status'])).toMatchObject({
      data: { stopped: [{ job: 'greet', state: 'paused', until: null, failures: 0, waiting: 1 }] },
    });
    expect((await cli(cwd, ['jobs', 'resume', 'greet'])).stdout).toBe(
      'greet is resumed: its waiting jobs are ready.\n',
    );
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    expect(await statuses()).toEqual({ greet: 'completed', 'mail.send': 'completed' });
    expect((await cli(cwd, ['status'])).stdout).not.toContain('paused');
  });

  it.each(['pause', 'resume', 'close-breaker'])('%s knows the jobs of the app', async (verb) => {
    expect(await cli(project(), ['jobs', verb, 'mail.sent'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('The app has no job "mail.sent". Did you mean "mail.send"?'),
    });
  });
});

describe('jobs close-breaker', () => {
  it('lets the jobs run that wait for it', async () => {
    const cwd = project({
      'longshore.config.ts': shopConfig.replace(
        "name: 'mail.send',",
        "name: 'mail.send', breaker: { failures: 1, openMs: 3_600_000 },",
      ),
    });
    await cli(cwd, ['enqueue', 'mail.send', '{"to":"nobody"}']);
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    const { id } = (await json(cwd, ['enqueue', 'mail.send', '{"to":"Ada"}'])).data as { id: string };
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    expect((await cli(cwd, ['status'])).stdout).toMatch(
      /\nmail\.send +breaker open, 1 failed in a row, until .+ 1\n$/,
    );
    expect((await cli(cwd, ['jobs', 'close-breaker', 'mail.send'])).code).toBe(0);
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    expect((await json(cwd, ['jobs', 'show', id])).data).toMatchObject({ job: { status: 'completed' } });
  });
});

describe('jobs list', () => {
  it('finds jobs by what only some of them have', async () => {
    const { list } = await ran();
    const keyed = await list('--key|order 1');
    expect(keyed.jobs.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['order 1']);
    expect((await list('--error|such')).jobs).toHaveLength(1);
    expect((await list('--error|Such')).jobs).toEqual([]);
    const [job] = keyed.jobs;
    expect((await list(`--id|${job!.id}`)).jobs).toEqual([job]);
    const { worker } = job!.attempts[0] as { worker: string };
    expect((await list(`--worker|${worker}`)).jobs).toHaveLength(4);
    for (const none of ['--tenant|acme', '--schedule|hourly', '--worker|other', '--older-than|1h'])
      expect((await list(none)).jobs, none).toEqual([]);
    expect((await list('--newer-than|1h')).jobs).toHaveLength(4);
  });

  it('goes on where it has ended, and says how', async () => {
    const { cwd, list } = await ran();
    const all = await list('--max|10');
    expect(all.next).toBeNull();
    const first = await list('--max|3');
    const second = await list(`--max|3|--after|${first.next}`);
    expect([...first.jobs, ...second.jobs]).toEqual(all.jobs);
    const { stdout } = await cli(cwd, ['jobs', 'list', '--max', '3']);
    expect(stdout).toContain(`\n\n3 jobs. Older ones: the same with --after ${first.next}\n`);
    const wrong = await cli(cwd, ['jobs', 'list', '--after', 'yesterday']);
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^OPTION: Expected after to be .* got "yesterday"\./),
    });
  });

  it.each([
    ['pending', '1 job of 1,200 that wait, pending or retrying\\.'],
    ['completed', '1 job\\.'],
  ])('says of how many %s jobs it shows some, where counts tell', async (status, text) => {
    const cwd = project();
    if (status === 'pending') {
      const backend = await sqlite(join(cwd, 'jobs.db'));
      await backend.enqueue(Array.from({ length: 1_200 }, (_, i) => messageOf(`id-${i}`)));
      await backend.close();
    } else {
      for (let i = 0; i < 2; i++) await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
      await cli(cwd, ['work', '--drain', '--no-schedules']);
    }
    const { stdout } = await cli(cwd, ['jobs', 'list', '--status', status, '--max', '1']);
    expect(stdout).toMatch(new RegExp(`\n${text} Older ones: the same with --after \\S+\n$`));
  });

  it.each([
    ['--job mail.sent', ' The app has no job "mail.sent". Did you mean "mail.send"?'],
    ['--queue mial', ' There is no queue "mial" here. Did you mean "mail"?'],
    ['--schedule hurly', ' The app has no schedule "hurly". Did you mean "hourly"?'],
    ['--job mail.send --queue mail --schedule hourly', ''],
  ])('of %s is empty, and tells of a name that is probably a typing error', async (line, hint) => {
    const { code, stdout } = await cli(project(), ['jobs', 'list', ...line.split(' ')]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `No job matches.${hint}\n` });
  });
});

/** At the same millisecond: ids that begin alike. */
const twins = ['01990000-0000-7abc-8000-000000000001', '01990000-0000-7abc-8000-000000000002'] as const;

const messageOf = (id: string) => ({
  id,
  queue: 'default',
  job: 'greet',
  body: '{}',
  priority: 4,
  notBefore: null,
  group: null,
  tenantId: null,
});

it('fits 80 columns, with the last error of a job that is retried, and when it comes again', async () => {
  const cwd = project();
  await cli(cwd, ['enqueue', 'mail.send', '{"to":"later"}']);
  await cli(cwd, ['work', '--drain', '--no-schedules']);
  const backend = await sqlite(join(cwd, 'jobs.db'));
  await backend.enqueue(
    ['发送邮件', 'j', 'שלום'].map((text, i) => ({ ...messageOf(`wide-${i}`), job: text.repeat(500) })),
  );
  await backend.close();
  const { stdout } = await cli(cwd, ['jobs', 'list', '--no-color'], { isTTY: true, columns: 80 });
  for (const line of stdout.split('\n')) expect(columnsOf(line)).toBeLessThanOrEqual(80);
  expect(stdout).toMatch(
    /^\S{18} {2}mail\.send +mail +retrying +1 .* in \d+ s\n {4}HANDLER: down for maintenance$/m,
  );
  expect(stdout).toMatch(/^wide-0 +发送/m);
});

it('marks what is late', async () => {
  const cwd = project();
  await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
  for (const [minutes, style] of [
    [0, null],
    [5, '\u001b[33m'],
    [20, '\u001b[31m'],
  ] as const) {
    const clock = createVirtualClock(Date.now() + minutes * 60_000);
    const { stdout } = await cli(cwd, ['jobs', 'list'], { isTTY: true, columns: 80, clock });
    if (style === null) expect(stdout).not.toContain('late');
    else expect(stdout).toContain(`${style}${minutes} min late`);
  }
});

describe('a short id', () => {
  it('is what lists show, and what commands take', async () => {
    const { cwd, list } = await ran();
    const { id } = (await list('--key|order 1')).jobs[0]!;
    const listed = await cli(cwd, ['jobs', 'list', '--key', 'order 1']);
    const short = id.slice(0, 18);
    expect(listed.stdout).toMatch(new RegExp(`^${short}  greet`, 'm'));
    expect((await json(cwd, ['jobs', 'show', short])).data).toMatchObject({ job: { id } });
    expect((await json(cwd, ['jobs', 'cancel', short])).data).toEqual({
      cancelled: 0,
      results: { [id]: 'finished' },
    });
  });

  it('is as long as a list needs, and refused with its candidates where several jobs begin so', async () => {
    const cwd = project();
    const backend = await sqlite(join(cwd, 'jobs.db'));
    await backend.enqueue(twins.map((id) => messageOf(id)));
    await backend.close();
    const { stdout } = await cli(cwd, ['jobs', 'list']);
    for (const id of twins) expect(stdout).toMatch(new RegExp(`^${id}  greet`, 'm'));
    for (const command of ['show', 'cancel']) {
      const { code, stderr } = await cli(cwd, ['jobs', command, twins[0].slice(0, 30)]);
      expect(code).toBe(2);
      expect(stderr).toMatch(/^USAGE: Id "01990000-/);
      for (const id of twins) expect(stderr).toContain(`${id} (greet)`);
    }
    expect((await cli(cwd, ['jobs', 'show', twins[1]])).code).toBe(0);
  });

  it('has at least 8 characters, so that a typing error finds nothing', async () => {
    const { cwd, list } = await ran();
    const { id } = (await list('--key|order 1')).jobs[0]!;
    expect(await cli(cwd, ['jobs', 'show', id.slice(0, 7)])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^NOT_FOUND: There is no job /),
    });
  });
});

describe('jobs show', () => {
  it('shows who ran a job, what it logged and what it was given', async () => {
    const { cwd, list } = await ran();
    const { id } = (await list('--key|order 1')).jobs[0]!;
    const { stdout } = await cli(cwd, ['jobs', 'show', id, '--payload']);
    expect(stdout).toMatch(/^key +order 1$/m);
    expect(stdout).toMatch(/^payload +not kept$/m);
    expect(stdout).toMatch(/^run of 4 +started +took +worker +host +outcome$/m);
    expect(stdout).toMatch(/^\S+Z {2}run 1 {2}hello \{"to":"Ada"\}$/m);
  });

  it('shows on which worker a job runs, and that this one is gone', async () => {
    const cwd = project();
    const { data } = await json(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    const id = String(data!.id);
    const backend = await sqlite(join(cwd, 'jobs.db'));
    await backend.fetch({ queues: ['default'], max: 1, leaseMs: 600_000, waitMs: 0 });
    const at = Date.now();
    const counts = { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };
    const beat = {
      ...{
        id: 'w',
        host: 'app-1.example',
        pid: 7,
        queues: ['default'],
        concurrency: 1,
        running: 1,
        memoryBytes: 1,
      },
      ...{ counts, startedAt: at, seenAt: at, jobs: [{ id, job: 'greet', startedAt: at - 2_000 }] },
    };
    const dead = [{ id, job: 'greet', startedAt: at - 60_000 }];
    await backend.stores!.workers!.heartbeat({ ...beat, id: 'v', pid: 6, seenAt: at - 50_000, jobs: dead });
    await backend.stores!.workers!.heartbeat(beat);
    await backend.close();
    expect((await cli(cwd, ['jobs', 'list'])).stdout).toMatch(/greet +default +processing +1 /);
    const shown = async (ms: number) =>
      (await cli(cwd, ['jobs', 'show', id], { clock: createVirtualClock(at + ms) })).stdout;
    expect(await shown(1_000)).toMatch(/^runs +for 3 s on app-1:7$/m);
    expect(await shown(90_000)).toMatch(/^runs +for 92 s on app-1:7, which is gone: seen 90 s ago$/m);
  });

  it('shows where in the code of the user a job failed, and the payload of a dead letter', async () => {
    const { cwd, list } = await ran();
    const { id } = (await list('--status|failed')).jobs[0]!;
    const { stdout } = await cli(cwd, ['jobs', 'show', id, '--payload']);
    expect(stdout).toMatch(/^payload +\{"to":"nobody"\}$/m);
    expect(stdout).toMatch(/at .*longshore\.config\.ts:\d+:\d+/);
    expect(stdout).not.toContain('core/kernel/attempt');
  });
});
