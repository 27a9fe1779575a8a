/** Command lines for a config that exports several backends by name. */

import { once } from 'node:events';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { cli, from, json, project, shopConfig } from './kit.ts';
import { files, several, severalOn } from './several-kit.ts';

/** A worker on each, which runs a job. */
async function beatOnEach(folder: string): Promise<void> {
  for (const name of ['default', 'fast']) {
    const backend = await sqlite(join(folder, `${name}.db`));
    const now = Date.now();
    await backend.stores!.workers!.heartbeat({
      ...{ id: name, host: name, pid: 1, queues: [name], concurrency: 4, running: 1, memoryBytes: 1 },
      counts: { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 },
      startedAt: now,
      seenAt: now,
      jobs: [{ id: `job-of-${name}`, job: 'greet', startedAt: now }],
    });
    await backend.close();
  }
}

/** One dead letter on each; their ids. */
async function dieOnBoth(folder: string): Promise<string[]> {
  const send = async (...more: string[]) =>
    (await json(folder, ['enqueue', 'mail.send', '{"to":"nobody"}', ...more])).data!.id as string;
  const ids = [await send('--backend', 'default'), await send()];
  await drainMail(folder);
  return ids;
}

async function drainMail(folder: string): Promise<void> {
  for (const name of ['default', 'fast'])
    await cli(folder, ['work', 'mail', '--drain', '--no-schedules', '--any-queue', '--backend', name]);
}

/** The jobs of a page, and the place of the next one. */
async function pageOf(folder: string, line: readonly string[]): Promise<[string[], string | null]> {
  const { jobs, deadLetters, next } = (await json(folder, line)).data as {
    jobs?: { job: string }[];
    deadLetters?: { job: string }[];
    next: string | null;
  };
  return [(jobs ?? deadLetters ?? []).map(({ job }) => job), next];
}

/** On a terminal where somebody types this. */
function answered(folder: string, line: readonly string[], answer: string) {
  const terminal = new PassThrough();
  terminal.write(`${answer}\n`);
  return cli(folder, line, { isTTY: true, terminal });
}

describe('a config with several backends', () => {
  it('enqueues jobs where they belong, or where --backend says', async () => {
    const folder = several();
    await cli(folder, ['enqueue', 'greet', '{"name":"Ada"}']);
    await cli(folder, ['enqueue', 'mail.send', '{"to":"Ada"}']);
    await cli(folder, ['enqueue', 'greet', '{"name":"Ben"}', '--backend', 'fast']);
    const listed = async (...more: string[]) =>
      ((await json(folder, ['jobs', 'list', ...more])).data!.jobs as { job: string }[]).map(({ job }) => job);
    expect((await listed()).toSorted()).toEqual(['greet', 'greet', 'mail.send']);
    expect(await listed('--backend', 'default')).toEqual(['greet']);
    expect((await listed('--backend', 'fast')).toSorted()).toEqual(['greet', 'mail.send']);
  });

  it('shows the queues of all, or of the one that is named', async () => {
    const folder = several(`() => (${files})`);
    await cli(folder, ['enqueue', 'mail.send', '{"to":"Ada"}']);
    const { data } = await json(folder, ['status']);
    expect(data).toMatchObject({
      backends: ['default', 'fast'],
      queues: [
        { backend: 'default', queue: 'default', ready: 0 },
        { backend: 'fast', queue: 'mail', ready: 1 },
      ],
    });
    expect((await cli(folder, ['status'])).stdout).toMatch(
      /^backend +queue .+\ndefault +default .+\nfast +mail +1/,
    );
    expect((await json(folder, ['status', 'mail'])).data!.queues).toMatchObject([{ backend: 'fast' }]);
    expect((await json(folder, ['status', 'mial'])).code).toBe(3);
    const one = (await json(folder, ['status', '--backend', 'fast'])).data!;
    expect([one.backend, one.queues]).toEqual(['sqlite', [expect.objectContaining({ queue: 'mail' })]]);
    await cli(folder, ['enqueue', 'greet', '{"name":"Ada"}', '--backend', 'fast']);
    expect((await json(folder, ['status', 'default'])).data!.queues).toMatchObject([
      { backend: 'default', queue: 'default', ready: 0 },
      { backend: 'fast', queue: 'default', ready: 1 },
    ]);
  });

  it('lists the workers of all in one table, and what they run in another', async () => {
    const folder = several();
    await beatOnEach(folder);
    const { stdout } = await cli(folder, ['workers', '--no-color'], { isTTY: true, columns: 120 });
    expect(stdout).toMatch(
      /^backend +worker +state .+\ndefault +default:1 +healthy .+\nfast +fast:1 +healthy .+\n\nbackend +running for +job +id +worker\ndefault .+ greet +job-of-default +default:1\nfast .+ greet +job-of-fast +fast:1\n\n/,
    );
  });

  it('lists the jobs of all in one table, and finds the one that has a job', async () => {
    const folder = several();
    await cli(folder, ['enqueue', 'greet', '{"name":"Ada"}']);
    const sent = await json(folder, ['enqueue', 'mail.send', '{"to":"Ada"}', '--delay', '1h']);
    const id = sent.data!.id as string;
    const { data, code } = await json(folder, ['jobs', 'list']);
    expect([code, data]).toMatchObject([
      0,
      {
        jobs: [
          { backend: 'fast', job: 'mail.send' },
          { backend: 'default', job: 'greet' },
        ],
        next: null,
      },
    ]);
    const { stdout } = await cli(folder, ['jobs', 'list']);
    expect(stdout).toMatch(
      /^backend +id .+\nfast +\S+ +mail\.send .+\ndefault +\S+ +greet .+\n\n2 jobs\.\n$/,
    );
    const [newest, next] = await pageOf(folder, ['jobs', 'list', '--max', '1']);
    expect([newest, await pageOf(folder, ['jobs', 'list', '--max', '1', '--after', next!])]).toEqual([
      ['mail.send'],
      [['greet'], null],
    ]);
    expect((await cli(folder, ['jobs', 'list', '--max', '1', '--after', 'x'])).code).toBe(2);
    expect((await json(folder, ['jobs', 'list', '--queue', 'mail'])).data).toMatchObject({ jobs: [{ id }] });
    expect((await json(folder, ['jobs', 'show', id.slice(0, 24)])).data).toMatchObject({ job: { id } });
    expect((await json(folder, ['jobs', 'cancel', id])).data).toMatchObject({ cancelled: 1 });
    const unknown = await cli(folder, ['jobs', 'show', '0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b']);
    expect([unknown.code, unknown.stderr]).toMatchObject([
      3,
      expect.stringContaining('There is no job 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b here'),
    ]);
    expect((await json(folder, ['pause', 'mail'])).code).toBe(0);
    expect((await json(folder, ['status'])).data!.queues).toMatchObject([
      { backend: 'default', paused: false },
      { backend: 'fast', queue: 'mail', paused: true },
    ]);
    expect((await json(folder, ['workers'])).data).toMatchObject({ workers: [] });
  });

  it('counts what is removed on all of them, asks once, and removes it', async () => {
    const folder = several();
    await dieOnBoth(folder);
    await cli(folder, ['enqueue', 'greet', '{"name":"Ada"}']);
    await cli(folder, ['work', '--drain', '--no-schedules']);
    const dry = await json(folder, ['purge', '--older-than', '0', '--dead-older-than', '0', '--dry-run']);
    expect(dry.data).toMatchObject({ dryRun: true, completed: 1, dead: 2 });
    expect((await cli(folder, ['purge', '--older-than', '0'])).code).toBe(2);
    const line = ['purge', '--older-than', '0', '--dead-older-than', '0'];
    const refused = await answered(folder, line, 'no');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('Remove 3 records for good? [y/N]');
    const { code, stdout } = await answered(folder, line, 'y');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Removed \d+, /)]);
    expect((await json(folder, ['jobs', 'list'])).data).toMatchObject({ jobs: [] });
    expect((await json(folder, ['purge'])).data).toMatchObject({ dryRun: false, removed: 0 });
  });

  it('retries and discards the dead letters of all', async () => {
    const folder = several();
    const ids = await dieOnBoth(folder);
    const dry = await json(folder, ['dead', 'retry', '--all', '--dry-run']);
    expect(dry.data).toMatchObject({ would: 2, retried: 0 });
    const { code, stderr } = await answered(folder, ['dead', 'retry', '--all'], 'y');
    expect([code, stderr]).toEqual([0, expect.stringContaining('Retry 2 dead letters? [y/N]')]);
    expect((await json(folder, ['status', '--sort', 'ready'])).data!.queues).toMatchObject([
      { backend: 'default', queue: 'mail', ready: 1, dead: 0 },
      { backend: 'fast', queue: 'mail', ready: 1, dead: 0 },
      { backend: 'default', queue: 'default', ready: 0, dead: 0 },
    ]);
    await drainMail(folder);
    const one = await json(folder, ['dead', 'discard', '--all', '--max', '1', '--dry-run']);
    expect(one.data).toMatchObject({ would: 1, ended: 'limit' });
    const [, next] = await pageOf(folder, ['dead', 'list', '--max', '1']);
    const [rest, end] = await pageOf(folder, ['dead', 'list', '--max', '5', '--after', next!]);
    expect([rest, end]).toEqual([['mail.send'], null]);
    const named = await json(folder, ['dead', 'retry', ...ids]);
    expect(named.data).toMatchObject({ retried: 2, missing: [] });
    await drainMail(folder);
    const { data } = await json(folder, ['dead', 'discard', '--all', '--yes']);
    expect(data).toMatchObject({ discarded: 2 });
    expect((await json(folder, ['dead', 'discard', '--all', '--yes'])).code).toBe(3);
  });

  it('cancels jobs and empties queues wherever they are', async () => {
    const folder = several();
    const sent = async (job: string, payload: object) =>
      (await json(folder, ['enqueue', job, JSON.stringify(payload)])).data!.id as string;
    const ids = [await sent('greet', { name: 'Ada' }), await sent('mail.send', { to: 'Ada' })];
    expect(await json(folder, ['jobs', 'cancel', ...ids])).toMatchObject({
      code: 0,
      data: { cancelled: 2, results: Object.fromEntries(ids.map((id) => [id, 'cancelled'])) },
    });
    const mixed = await json(folder, ['jobs', 'cancel', ids[1]!, await sent('greet', { name: 'Ben' })]);
    expect([mixed.code, mixed.data!.cancelled]).toEqual([1, 1]);
    await sent('greet', { name: 'Ada' });
    await sent('mail.send', { to: 'Ada' });
    const { data } = await json(folder, ['clear', 'default', 'mail', '--yes']);
    expect(data).toMatchObject({ removed: 2, queues: { default: 1, mail: 1 } });
    const unknown = await cli(folder, ['clear', 'default', 'mial', '--yes']);
    expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining('no queue "mial"')]);
  });

  it('frees a limit and asks a worker to drain wherever they are', async () => {
    const folder = project({
      'longshore.config.ts': severalOn(files).replace('backend: "fast"', '$&, concurrency: { limit: 1 }'),
    });
    await beatOnEach(folder);
    const key = 'queue:mail:concurrency';
    const fast = await sqlite(join(folder, 'fast.db'));
    const slot = { key, limit: 1, holdMs: 3_600_000, queue: 'mail', rank: 0 };
    await fast.stores!.limits!.take([{ ...slot, holder: 'job', owner: 'job' }]);
    await fast.close();
    expect((await cli(folder, ['limits', 'reset', key])).code).toBe(2);
    const { code, stderr } = await answered(folder, ['limits', 'reset', key], 'y');
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`fast: ${key}: 1 slot in use, 0 jobs waiting. Free it? [y/N]`),
    ]);
    expect((await cli(folder, ['limits', 'reset', key, '--yes'])).code).toBe(3);
    expect(await json(folder, ['workers', 'drain', 'fast:1'])).toMatchObject({
      code: 0,
      data: { worker: 'fast', draining: true },
    });
    expect((await cli(folder, ['workers', 'drain', 'other:1'])).code).toBe(3);
  });

  it('is watched as one picture', async () => {
    const folder = several();
    await beatOnEach(folder);
    await cli(folder, ['enqueue', 'mail.send', '{"to":"Ada"}']);
    for (const line of ['top', 'top mail', 'status --watch', 'workers --watch', 'jobs list --watch']) {
      const gone = new AbortController();
      const stdout = new PassThrough();
      const ended = cli(folder, [...line.split(' '), '--json'], { hungUp: gone.signal, stdout });
      const [chunk] = await once(stdout, 'data');
      gone.abort();
      expect([line, (await ended).code]).toEqual([line, 0]);
      const data = JSON.parse(String(chunk));
      if ('queues' in data)
        expect(data).toMatchObject({
          backends: ['default', 'fast'],
          queues: [
            ...(line === 'top mail' ? [] : [{ backend: 'default', queue: 'default', ready: 0 }]),
            { backend: 'fast', queue: 'mail', ready: 1 },
          ],
          workers: { healthy: line === 'top mail' ? 1 : 2 },
        });
      if ('totals' in data) expect(data.totals).toMatchObject({ healthy: 2, running: 2 });
    }
  });

  it('counts a worker once if two backends share a store', async () => {
    const shared = `import { sqliteStore } from ${from('local/backends/sqlite/index.ts')};
      const shared = sqliteStore(import.meta.dirname + '/default.db');
      export const store = { default: shared, fast: shared };`;
    const folder = project({ 'longshore.config.ts': severalOn(files) + shared });
    await beatOnEach(folder);
    const gone = new AbortController();
    const stdout = new PassThrough();
    const ended = cli(folder, ['top', '--json'], { hungUp: gone.signal, stdout });
    const [chunk] = await once(stdout, 'data');
    gone.abort();
    await ended;
    expect(JSON.parse(String(chunk)).workers).toMatchObject({ healthy: 1, running: 1, concurrency: 4 });
  });

  it('checks all, or the one that is named', async () => {
    const folder = several();
    await cli(folder, ['enqueue', 'mail.send', '{"to":"Ada"}']);
    const bad = async (...more: string[]) => {
      const { code, data } = await json(folder, ['health', ...more]);
      const checks = data!.checks as { backend?: string; name: string; ok: boolean | null }[];
      return [
        code,
        ...checks.filter(({ ok }) => ok === false).map(({ backend = '', name }) => `${backend} ${name}`),
      ];
    };
    const worked = ['--min-workers', '0', '--max-late', '9999h'];
    expect(await bad(...worked)).toEqual([1, 'default schedules']);
    expect(await bad()).toEqual([1, 'default workers', 'default schedules', 'fast workers', 'fast queues']);
    expect(await bad('--backend', 'fast')).toEqual([1, ' workers', ' queues']);
    expect((await cli(folder, ['health'])).stdout).toMatch(
      /^ +backend +check *\nok +keys .+\nok +default +backend +sqlite/,
    );
  });

  it('lists the limits of all where they belong', async () => {
    const folder = project({
      'longshore.config.ts': severalOn(files)
        .replace('mail: { backend: "fast" }', 'mail: { backend: "fast", concurrency: { limit: 3 } }')
        .replace('queues: {', 'queues: { default: { concurrency: { limit: 2 } },'),
    });
    const keys = async (...more: string[]) =>
      ((await json(folder, ['limits', ...more])).data!.limits as { backend?: string; key: string }[]).map(
        ({ backend = '', key }) => `${backend} ${key}`,
      );
    const [first, second] = ['queue:default:concurrency', 'queue:mail:concurrency'];
    expect(await keys()).toEqual([`default ${first}`, `fast ${second}`]);
    expect(await keys('--backend', 'fast')).toEqual([`fast ${second}`]);
    expect((await cli(folder, ['limits'])).stdout).toMatch(
      /^backend +in use .+\ndefault +0\/2 .+\nfast +0\/3/,
    );
  });

  it('works all of them, or the one that is named', async () => {
    const folder = several();
    for (const [job, payload] of [
      ['greet', '{"name":"Ada"}'],
      ['mail.send', '{"to":"Ada"}'],
    ] as const)
      await cli(folder, ['enqueue', job, payload]);
    const one = await json(folder, ['work', '--drain', '--backend', 'fast', '--no-schedules']);
    expect(one.data).toMatchObject({ reason: 'idle', counts: { acked: 1 } });
    await cli(folder, ['enqueue', 'mail.send', '{"to":"Ben"}']);
    const all = await json(folder, ['work', '--drain', '--no-schedules']);
    expect(all.data).toMatchObject({ reason: 'idle', counts: { acked: 2 } });
    const none = await json(folder, ['work', 'mail', '--once', '--no-schedules']);
    expect([none.code, none.data]).toMatchObject([3, { reason: 'once', counts: { acked: 0 } }]);
  });

  it('finds a schedule on the backend of its job', async () => {
    const folder = several();
    expect((await json(folder, ['schedule', 'pause', 'hourly'])).code).toBe(0);
    expect((await json(folder, ['schedule', 'list', '--last'])).data).toMatchObject({
      schedules: [{ name: 'hourly', pausedAt: expect.any(Number) }],
    });
    expect(await json(folder, ['schedule', 'resume', 'hourly', '--backend', 'fast'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('belongs to another backend than'),
    });
    expect((await json(folder, ['schedule', 'resume', 'hourly'])).code).toBe(0);
    expect((await json(folder, ['tick'])).code).toBe(0);
  });

  it.each([
    [
      '--backend',
      'fsat',
      /Expected --backend to be one of default, fast, got "fsat"\. Did you mean "fast"\?/,
    ],
    ['--backend', 'other', /Expected --backend to be one of default, fast, got "other"\./],
  ])('refuses %s %s', async (flag, name, text) => {
    const { code, stderr } = await cli(several(), ['status', flag, name]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(text)]);
  });

  it('refuses a name where there is one backend, and an app that names one', async () => {
    const named = await cli(project(), ['status', '--backend', 'fast']);
    expect([named.code, named.stderr]).toEqual([
      2,
      expect.stringMatching(/Expected no --backend, because longshore\.config\.ts exports one backend/),
    ]);
    const folder = project({
      'longshore.config.ts': shopConfig.replace(
        'jobs: [greet, send, slow],',
        '$& queues: { mail: { backend: "fast" } },',
      ),
    });
    expect((await cli(folder, ['work', '--drain'])).stderr).toMatch(
      /CONFIG: Job or queue "mail" uses backend "fast"/,
    );
  });

  it('says which of them is none', async () => {
    const { code, stderr } = await cli(several("{ default: memory(), fast: 'fast.db' }"), ['status']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /Expected the backend of longshore\.config\.ts called fast to be a QueueBackend .+, got a string/,
      ),
    ]);
  });
});
