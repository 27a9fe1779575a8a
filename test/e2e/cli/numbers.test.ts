/** `longshore metrics`: the numbers of each job, as tables and as JSON. */

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Counted,
  count,
  countMemory,
  newTally,
  packTally,
} from '../../../core/features/metrics/tally.ts';
import { stepMs, stepOf } from '../../../core/kit/records/metric-steps.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { cli, project, shopOn } from './kit.ts';

const acked = {
  ...({ job: null, outcome: 'acked', settled: true, counted: true, reason: null } as const),
  ...{ durationMs: 10, waitMs: 100, memoryBytes: null },
} satisfies Counted;
const retried = { ...acked, outcome: 'requeued', waitMs: null } as const;

/** What workers would have written: of a minute ago, or of `days` ago. */
async function ran(cwd: string, job: string, results: readonly Counted[], days = 0): Promise<void> {
  const backend = await sqlite(join(cwd, 'jobs.db'));
  const step = days === 0 ? 'minute' : 'day';
  const at = stepOf(step, Date.now() - (days === 0 ? stepMs.minute : days * stepMs.day));
  const tally = newTally();
  for (const result of results) count(tally, result, at);
  countMemory(tally, 3 * 1024 ** 2);
  const row = { step, at, queue: 'mail', job, source: 'w', body: packTally(tally) } as const;
  await backend.stores!.metrics!.write([row]);
  await backend.close();
}

const times = <T>(n: number, value: T): T[] => Array.from({ length: n }, () => value);

describe('metrics', () => {
  it('shows runs, ends, times and memory of each job', async () => {
    const cwd = project();
    await ran(cwd, 'mail.send', [...times(95, acked), ...times(5, { ...retried, durationMs: 1_000 })]);
    await ran(cwd, 'greet', times(3, acked));
    const { stdout } = await cli(cwd, ['metrics']);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^job +runs +ok +retried +dead +average +p50 +p95 +p99 +memory +last$/);
    expect(lines[1]).toMatch(/^mail\.send +100 +95 % +5 +0 +60 ms +10 ms +\d+ ms +1 s +3 MB +.* ago$/);
    expect(lines[2]).toMatch(/^greet +3 +100 % /);
    expect(stdout).toMatch(/\ndone per minute +█ ?\n$/);
  });

  it('shows all of one job, and of a queue', async () => {
    const cwd = project();
    await ran(cwd, 'mail.send', [...times(2, acked), { ...acked, outcome: 'requeued', counted: false }]);
    const { stdout } = await cli(cwd, ['metrics', '--job', 'mail.send', '--queue', 'mail']);
    expect(stdout).toMatch(/^runs +2: 2 done, 0 retried, 0 dead$/m);
    expect(stdout).toMatch(/^ran +average 10 ms, p50 10 ms, .* longest 10 ms$/m);
    expect(stdout).toMatch(/^waited +average 100 ms/m);
    expect(stdout).toMatch(/^memory +average 3 MB, most 3 MB$/m);
    expect(stdout).toMatch(/^other ends +1 released$/m);
    const { stdout: none } = await cli(cwd, ['metrics', '--job', 'greet']);
    expect(none).toBe('Nothing ran in the last hour.\n');
  });

  it('names a job that is slower or fails more than in its past, with the numbers', async () => {
    const cwd = project();
    await ran(cwd, 'mail.send', times(100, acked), 3);
    await ran(cwd, 'mail.send', [
      ...times(40, { ...acked, durationMs: 500 }),
      ...times(10, { ...retried, durationMs: 500 }),
    ]);
    const { stdout } = await cli(cwd, ['metrics']);
    expect(stdout).toMatch(/\nmail\.send is slower than it was: p95 \d{3} ms, in its last 30 days 10 ms\.\n/);
    expect(stdout).toMatch(
      /\nmail\.send fails more than it did: 20 % of its runs, in its last 30 days 0 %\.\n/,
    );
    const { jobs } = JSON.parse((await cli(cwd, ['metrics', '--json'])).stdout);
    expect(jobs[0].flags).toMatchObject([{ kind: 'slower' }, { kind: 'failing', now: 0.2, past: 0 }]);
  });

  it('fits a line of 80 columns', async () => {
    const cwd = project();
    const job = 'a.job.with.a.name.that.is.much.too.long.for.a.line.of.eighty.columns';
    await ran(cwd, job, times(123_456, { ...acked, durationMs: 119_000 }));
    const { stdout } = await cli(cwd, ['metrics', '--no-color'], { isTTY: true, columns: 80 });
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(stdout).toMatch(/^a\.job\.w.*… +123k +100 % /m);
  });

  it('counts what a worker ran', async () => {
    const cwd = project();
    for (const to of ['Ada', 'nobody']) await cli(cwd, ['enqueue', 'mail.send', `{"to":"${to}"}`]);
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    const { stdout } = await cli(cwd, ['metrics', '--last', 'day', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      last: 'day',
      step: 'hour',
      jobs: [{ job: 'mail.send', done: 1, dead: 1 }],
    });
  });

  it('says where no numbers are kept, and which jobs there are', async () => {
    const plain = shopOn(
      '() => { const { stores: { metrics, texts, ...stores }, ...rest } = memory(); return { ...rest, stores }; }',
    );
    const { code, stderr } = await cli(project({ 'longshore.config.ts': plain }), ['metrics']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^CONFIG: Backend "memory" keeps no numbers: give connect\(\) a store that does/);
    const unknown = await cli(project(), ['metrics', '--job', 'gret']);
    expect(unknown).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/no job "gret".* Did you mean "greet"\?/),
    });
  });
});
