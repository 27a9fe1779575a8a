import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { cli, json, project } from './kit.ts';

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
    expect(stdout).toContain(`Older ones: the same with --after ${first.next}\n`);
    const wrong = await cli(cwd, ['jobs', 'list', '--after', 'yesterday']);
    expect(wrong).toMatchObject({ code: 2, stderr: /^OPTION: Expected after to be .* got "yesterday"\./ });
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

describe('jobs show', () => {
  it('shows who ran a job, what it logged and what it was given', async () => {
    const { cwd, list } = await ran();
    const { id } = (await list('--key|order 1')).jobs[0]!;
    const { stdout } = await cli(cwd, ['jobs', 'show', id, '--payload']);
    expect(stdout).toMatch(/^key +order 1$/m);
    expect(stdout).toMatch(/^payload +not kept$/m);
    expect(stdout).toMatch(/^run of 4 +started +took +worker +host +outcome +error$/m);
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
    await backend.stores!.workers.heartbeat({ ...beat, id: 'v', pid: 6, seenAt: at - 50_000, jobs: dead });
    await backend.stores!.workers.heartbeat(beat);
    await backend.close();
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
    expect(stdout).not.toContain('core/attempt');
  });
});
