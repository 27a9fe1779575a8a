/** What the commands do to a queue, beyond what they print. */

import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { cli, from, imports, json, project, shopConfig, shopOn } from './kit.ts';

/** Enqueues one job and returns its id. */
async function enqueue(cwd: string, job: string, payload: unknown, ...flags: string[]): Promise<string> {
  const { data } = await json(cwd, ['enqueue', job, JSON.stringify(payload), ...flags]);
  return String(data!.id);
}

const drain = (cwd: string) => json(cwd, ['work', '--drain', '--no-schedules']);

async function jobOf(cwd: string, id: string): Promise<Record<string, unknown>> {
  return (await json(cwd, ['jobs', 'show', id])).data!.job as Record<string, unknown>;
}

describe('enqueue', () => {
  it('reads the payload from stdin, and runs', async () => {
    const cwd = project();
    const { data } = await json(cwd, ['enqueue', 'greet', '-'], { stdin: '{"name":"Ada"}\n' });
    await drain(cwd);
    expect(await jobOf(cwd, String(data!.id))).toMatchObject({
      status: 'completed',
      output: { greeted: 'Ada' },
    });
  });

  it('passes its flags on', async () => {
    const cwd = project();
    const at = new Date(Date.now() + 86_400_000).toISOString();
    const id = await enqueue(
      cwd,
      'greet',
      { name: 'Ada' },
      '--run-at',
      at,
      '--queue',
      'mail',
      '--priority',
      'critical',
    );
    expect(await jobOf(cwd, id)).toMatchObject({
      queue: 'mail',
      priority: 0,
      runAt: Date.parse(at),
      status: 'pending',
    });
    const failing = await enqueue(cwd, 'mail.send', { to: 'later' }, '--max-retries', '0');
    await drain(cwd);
    expect(await jobOf(cwd, failing)).toMatchObject({ status: 'failed', reason: 'exhausted' });
  });

  it('has one effect per key', async () => {
    const cwd = project();
    for (let i = 0; i < 2; i++) await enqueue(cwd, 'greet', { name: 'Ada' }, '--key', 'k');
    const { data } = await json(cwd, ['work', '--drain', '--no-schedules', '--concurrency', '1']);
    expect(data?.counts).toMatchObject({ acked: 1, 'skipped-idempotent': 1 });
  });

  it('warns that a queue in memory ends with it', async () => {
    const cwd = project({ 'longshore.config.ts': shopConfig.replace(/sqlite\(.*\)/, 'memory()') });
    const argv = ['enqueue', 'greet', '{"name":"Ada"}'];
    expect((await cli(cwd, argv)).stderr).toMatch(
      /^Note: this queue is in memory and ends with this process/,
    );
    expect((await cli(cwd, [...argv, '--json'])).stderr).toBe('');
  });
});

describe('work', () => {
  it('takes one job with --once, and says when there was none', async () => {
    const cwd = project();
    for (const name of ['Ada', 'Bob']) await enqueue(cwd, 'greet', { name });
    const once = () => json(cwd, ['work', '--once', '--no-schedules']);
    expect(await once()).toMatchObject({ code: 0, data: { reason: 'once', counts: { acked: 1 } } });
    expect(await once()).toMatchObject({ code: 0 });
    expect(await once()).toMatchObject({ code: 3, stderr: '' });
  });

  it('keeps to its queues and limits', async () => {
    const cwd = project();
    await enqueue(cwd, 'greet', { name: 'Ada' });
    expect(await json(cwd, ['work', 'mail', '--once', '--no-schedules'])).toMatchObject({ code: 3 });
    for (let i = 0; i < 3; i++) await enqueue(cwd, 'greet', { name: 'Ada' });
    const two = await json(cwd, ['work', 'default', '--max-jobs', '2', '--concurrency', '1']);
    expect(two).toMatchObject({ code: 0, data: { reason: 'max-jobs', counts: { acked: 2 } } });
    expect(await json(cwd, ['work', '--max-runtime', '50ms'])).toMatchObject({
      data: { reason: 'max-runtime' },
    });
    expect(await json(cwd, ['work', '--max-memory', '1mb'])).toMatchObject({
      data: { reason: 'max-memory' },
    });
  });

  it('logs JSON lines where nobody looks, and to stderr beside --json', async () => {
    const cwd = project();
    await enqueue(cwd, 'greet', { name: 'Ada' });
    const piped = await cli(cwd, ['work', '--drain', '--no-schedules']);
    const lines = piped.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ event }) => event)).toContain('job.settled');
    const both = await cli(cwd, ['work', '--drain', '--no-schedules', '--json', '--log', 'json']);
    expect(JSON.parse(both.stdout).reason).toBe('idle');
    expect(JSON.parse(both.stderr.split('\n')[0]!).event).toBe('worker.started');
  });

  it('stops when nobody reads its log any more', async () => {
    const gone = new AbortController();
    gone.abort();
    const ended = await cli(project(), ['work', '--no-schedules'], { hungUp: gone.signal });
    expect(ended.code).toBe(0);
  });

  it('does not hang in a queue that fails', async () => {
    const broken = shopOn("{ ...memory(), fetch: async () => { throw new Error('connection refused'); } }");
    const cwd = project({ 'longshore.config.ts': broken });
    const { code, stderr } = await cli(cwd, ['work', '--drain', '--no-schedules', '--json']);
    expect({ code, ...JSON.parse(stderr).error }).toMatchObject({
      code: 'BACKEND',
      message: expect.stringContaining('connection refused'),
    });
    expect(code).toBe(1);
  });

  it.each(['work', 'dev'])(
    'refuses to `%s` in a queue that the app does not name, unless it is meant',
    async (command) => {
      const cwd = project();
      const { code, stdout, stderr } = await cli(cwd, [command, 'mail', 'mial', '--no-schedules']);
      expect({ code, stdout, stderr }).toEqual({
        code: 2,
        stdout: '',
        stderr:
          'USAGE: The app does not declare queue "mial". Did you mean "mail"? Add --any-queue to run jobs that another release has left there.\n',
      });
      const enqueued = await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}', '--queue', 'mial']);
      expect(enqueued).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^OPTION: Queue "mial" is not declared, .+ Did you mean "mail"\?/),
      });
      const argv = ['work', 'mial', '--any-queue', '--once', '--no-schedules'];
      expect(await json(cwd, argv)).toMatchObject({ code: 3 });
    },
  );

  it('enqueues what is owed first in a batch', async () => {
    const cwd = project({ 'longshore.config.ts': shopConfig.replace("cron: '0 * * * *'", 'everyMs: 1000') });
    await cli(cwd, ['tick']); // the schedule is seen for the first time
    await new Promise((wake) => setTimeout(wake, 1000 - (Date.now() % 1000)));
    expect((await json(cwd, ['work', '--drain'])).data?.counts).toMatchObject({ acked: 1 });
  });
});

describe('a job that can never run', () => {
  const config = (given: string, accepts = '') => `${imports}
    const late = defineJob({ name: 'late', payload: z.object({ at: ${given} }), handle() {} });
    export const app = createApp({ jobs: [late], accepts: {${accepts}} });
    export const backend = () => memory();`;

  it('because no JSON fits its schema is refused by `work` and `enqueue`, with the remedy', async () => {
    const cwd = project({ 'longshore.config.ts': config('z.date()') });
    const never = /Job "late" can never run: payload\.at is z\.date\(\), .+ z\.coerce\.date\(\)/;
    const worked = await cli(cwd, ['work', '--drain']);
    expect({ ...worked, stdout: '' }).toMatchObject({ code: 1, stderr: expect.stringMatching(never) });
    expect(worked.stderr).toContain('CONFIG: ');
    const enqueued = await cli(cwd, ['enqueue', 'late', '{"at":"2026-01-15T12:00:00Z"}']);
    expect(enqueued).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(never) });
  });

  it('because its queue does not accept it is refused by `enqueue`', async () => {
    const cwd = project({ 'longshore.config.ts': config('z.string()', 'default: []') });
    expect(await cli(cwd, ['enqueue', 'late', '{"at":""}'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^UNKNOWN_JOB: Queue "default" does not accept job "late"\./),
    });
  });
});

describe('dead letters', () => {
  it('are all run again, more than one page of them, each once', async () => {
    const many = `${imports}
      const bad = defineJob({ name: 'bad', payload: z.object({}), handle() { throw new PermanentError('no'); } });
      export const app = createApp({ jobs: [bad] });
      const inner = memory();
      await longshore.connect(app, inner).enqueueMany(bad, Array.from({ length: 1201 }, () => ({})));
      await longshore.startWorker(app, { backend: inner, untilIdle: true, concurrency: 100 }).done;
      const dieAgain = async (ids) => {
        const count = await inner.admin.deadLetters.retry(ids);
        await longshore.startWorker(app, { backend: inner, untilIdle: true, concurrency: 100 }).done;
        return count;
      };
      const deadLetters = { ...inner.admin.deadLetters, retry: dieAgain };
      export const backend = { ...inner, admin: { ...inner.admin, deadLetters } };
    `;
    const cwd = project({ 'longshore.config.ts': many });
    expect(await json(cwd, ['dead', 'retry', '--all'])).toMatchObject({ code: 0, data: { retried: 1201 } });
    expect(await json(cwd, ['dead', 'discard', '--all', '--yes'])).toMatchObject({
      data: { discarded: 1201 },
    });
  });

  it('that are run again wait in the records of a store beside the queue too', async () => {
    const beside = `${shopConfig.replace(/export const backend.+/, '')}
      import { sqliteStore } from ${from('local/backends/sqlite/index.ts')};
      export const backend = () => {
        const { stores: _, ...queue } = sqlite(import.meta.dirname + '/jobs.db');
        return queue;
      };
      export const store = () => sqliteStore(import.meta.dirname + '/store.db');
    `;
    const cwd = project({ 'longshore.config.ts': beside });
    const id = await enqueue(cwd, 'mail.send', { to: 'nobody' });
    await drain(cwd);
    expect(await jobOf(cwd, id)).toMatchObject({ status: 'failed', reason: 'permanent' });
    expect(await json(cwd, ['dead', 'retry', id])).toMatchObject({ code: 0, data: { retried: 1 } });
    expect(await jobOf(cwd, id)).toMatchObject({ status: 'pending', reason: null, finishedAt: null });
    expect(await json(cwd, ['jobs', 'cancel', id])).toMatchObject({ code: 0 });
    expect(await jobOf(cwd, id)).toMatchObject({ status: 'cancelled' });
  });

  it('are chosen by queue', async () => {
    const cwd = project();
    await enqueue(cwd, 'mail.send', { to: 'nobody' });
    await drain(cwd);
    expect(await json(cwd, ['dead', 'retry', '--all', '--queue', 'default'])).toMatchObject({ code: 3 });
    expect(await json(cwd, ['dead', 'retry', '--all', '--queue', 'mail'])).toMatchObject({
      code: 0,
      data: { retried: 1 },
    });
  });
});

describe('queues', () => {
  it('that are paused give out nothing until they are resumed', async () => {
    const cwd = project();
    await enqueue(cwd, 'mail.send', { to: 'ada' });
    await cli(cwd, ['pause', 'mail']);
    expect((await cli(cwd, ['status'])).stdout).toMatch(/mail .* paused\n/);
    expect(await json(cwd, ['work', '--once', '--no-schedules'])).toMatchObject({ code: 3 });
    await cli(cwd, ['resume', 'mail']);
    expect(await json(cwd, ['work', '--once', '--no-schedules'])).toMatchObject({ code: 0 });
  });

  it('are cleared of what waits and of nothing else', async () => {
    const cwd = project();
    await enqueue(cwd, 'mail.send', { to: 'nobody' });
    await drain(cwd);
    await enqueue(cwd, 'mail.send', { to: 'ada' });
    const other = await enqueue(cwd, 'greet', { name: 'Ada' });
    expect(await json(cwd, ['clear', 'mail', '--yes'])).toMatchObject({
      data: { removed: 1, queues: { mail: 1 } },
    });
    expect(await jobOf(cwd, other)).toMatchObject({ status: 'pending' });
    expect((await json(cwd, ['dead', 'list'])).data?.deadLetters).toHaveLength(1);
  });
});

describe('purge', () => {
  it('counts with --dry-run exactly what it then removes, and touches nothing', async () => {
    const cwd = project();
    for (const name of ['Ada', 'Bob']) await enqueue(cwd, 'greet', { name });
    await enqueue(cwd, 'mail.send', { to: 'nobody' });
    await drain(cwd);
    const dry = (...flags: string[]) => json(cwd, ['purge', '--dry-run', ...flags]);
    expect((await dry('--older-than', '1h')).data).toMatchObject({ completed: 0, dead: 0 });
    expect((await dry('--older-than', '0')).data).toMatchObject({
      completed: 2,
      dead: 0,
      exact: true,
      keys: null,
    });
    expect((await dry('--dead-older-than', '0')).data).toMatchObject({ completed: 0, dead: 1 });
    expect((await json(cwd, ['jobs', 'list'])).data?.jobs).toHaveLength(3);
    expect((await json(cwd, ['purge', '--older-than', '0', '--yes'])).data).toMatchObject({ removed: 2 });
    expect((await json(cwd, ['jobs', 'list'])).data?.jobs).toHaveLength(1);
    expect((await json(cwd, ['purge'])).data).toMatchObject({ removed: 0 });
    expect((await json(cwd, ['purge', '--dead-older-than', '0', '--yes'])).data).toMatchObject({
      removed: 1,
    });
  });
});

describe('health', () => {
  it('is bad without a worker, with old work, and good again when that is allowed', async () => {
    const cwd = project();
    await enqueue(cwd, 'greet', { name: 'Ada' });
    const clock = createVirtualClock(Date.now());
    const bad = async (...flags: string[]) => {
      const { code, data } = await json(cwd, ['health', ...flags], { clock });
      const checks = data!.checks as { name: string; ok: boolean }[];
      return { code, bad: checks.filter(({ ok }) => !ok).map(({ name }) => name) };
    };
    expect(await bad()).toEqual({ code: 1, bad: ['workers', 'queues', 'schedules'] });
    await cli(cwd, ['tick'], { clock });
    expect(await bad('--min-workers', '0')).toEqual({ code: 0, bad: [] });
    expect(await bad('--min-workers', '0', '--max-age', '1ms')).toEqual({ code: 1, bad: ['age'] });
  });

  it('is bad when the backend does not answer, and says so in time', async () => {
    const cwd = project({ 'longshore.config.ts': shopOn('() => new Promise(() => {})') });
    const { code, stdout } = await cli(cwd, ['health', '--timeout', '20ms']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/bad +backend +INTERNAL: no answer within 20 ms\. Check the server/);
  });

  it('is bad when the backend cannot be opened', async () => {
    const cwd = project({ 'longshore.config.ts': shopConfig.replace("'/jobs.db'", "'/package.json'") });
    expect(await json(cwd, ['health'])).toMatchObject({
      code: 1,
      data: {
        healthy: false,
        checks: [{ ok: true }, { name: 'backend', ok: false, detail: expect.stringMatching(/CORRUPT/) }],
      },
    });
  });
});

describe('keys', () => {
  it('are made at random, and work', async () => {
    const cwd = project();
    const make = async () => (await cli(cwd, ['keys', 'new', '--kid', 'k1'])).stdout.trim();
    const key = await make();
    expect(key).toMatch(/^k1:[A-Za-z0-9+/]{43}=$/);
    expect(await make()).not.toBe(key);
    const { data } = await json(cwd, ['keys', 'new'], { clock: createVirtualClock(Date.UTC(2030, 0, 31)) });
    expect(data?.kid).toBe('k20300131');
  });

  it('of an app with its own ring are listed too', async () => {
    const own = shopConfig.replace(
      'schedules:',
      `signing: longshore.keyRing([{ kid: 'own', secret: new Uint8Array(32) }, { kid: 'old', secret: new Uint8Array(33) }]), schedules:`,
    );
    const { data } = await json(project({ 'longshore.config.ts': own }), ['keys', 'list']);
    expect(data).toEqual({
      keys: [
        { kid: 'own', signs: true },
        { kid: 'old', signs: false },
      ],
    });
  });
});

describe('migrate', () => {
  it('tells the version of a SQLite file, which opening has brought up to date', async () => {
    const cwd = project();
    expect((await cli(cwd, ['migrate'])).stdout).toMatch(/^sqlite went from version none to \d+\.\n$/);
    expect((await cli(cwd, ['migrate'])).stdout).toMatch(/^sqlite is at version \d+, nothing to do\.\n$/);
  });

  it('has nothing to do on a backend without tables', async () => {
    const { data } = await json(project({ 'longshore.config.ts': shopOn('memory()') }), ['migrate']);
    expect(data).toEqual({ backend: 'memory', how: 'none', from: null, to: null, store: null });
  });

  it('calls a backend that offers it', async () => {
    const offering = shopOn(
      '{ ...memory(), stores: { ...memory().stores, migrate: async () => ({ from: 1, to: 3 }) } }',
    );
    const cwd = project({ 'longshore.config.ts': offering });
    expect((await cli(cwd, ['migrate'])).stdout).toBe('memory went from version 1 to 3.\n');
  });
});

describe('tick', () => {
  it('ends with 1 when a schedule fails, and still serves the others', async () => {
    const two = shopConfig
      .replace('handle({ name }, ctx)', 'handle({ name }, ctx)')
      .replace(
        'schedules: [',
        `schedules: [defineSchedule({ name: 'broken', everyMs: 1000, job: greet, payload: { name: 7 } }), defineSchedule({ name: 'fine', everyMs: 1000, job: greet, payload: { name: 'x' } }),`,
      );
    const cwd = project({ 'longshore.config.ts': two });
    await cli(cwd, ['tick']);
    await new Promise((wake) => setTimeout(wake, 1000 - (Date.now() % 1000)));
    const { code, data } = await json(cwd, ['tick']);
    expect(code).toBe(1);
    expect(data).toMatchObject({
      enqueued: [expect.any(String)],
      failed: [{ schedule: 'broken', code: 'PAYLOAD' }],
    });
  });
});
