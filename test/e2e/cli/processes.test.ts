/** `longshore work --processes`: real processes that are killed, drained and replaced, on a queue in a file. */

import { describe, it } from 'vitest';
import { isAlive } from '../dev/kit.ts';
import { enqueue, faultsOf, fleetConfig, pidsOf, startFleet } from './fleet-kit.ts';
import { shopOn } from './kit.ts';
import { projects } from './spawned.ts';

const make = projects();
const config = fleetConfig();

const thirty = /^queue_jobs_processed_total\{[^}]*outcome="acked"[^}]*\} 30$/m;

describe('longshore work --processes', { timeout: 120_000 }, () => {
  it('runs every job once over a killed process, replaces it, and drains at SIGTERM', async ({ expect }) => {
    const cwd = make({ 'longshore.config.ts': config });
    await enqueue(cwd, 200, 100);
    const fleet = startFleet(cwd, '--processes', '2', '--concurrency', '2', '--lease', '1s', '--json');
    await fleet.until(() => pidsOf(fleet).length === 2 && fleet.runs('end').length > 10);
    const [victim] = pidsOf(fleet) as [number];
    process.kill(victim, 'SIGKILL');
    await fleet.until(() => pidsOf(fleet).length === 3 && faultsOf(fleet, 200).lost.length < 50);
    fleet.process.kill('SIGTERM');
    expect(await fleet.ended).toBe(0);
    expect(pidsOf(fleet).filter(isAlive)).toEqual([]);
    const data = JSON.parse(fleet.stdout());
    expect(data).toMatchObject({ reason: 'signal', processes: 2, restarts: 1, deadLetters: 0 });
    const endedByDead = fleet.runs('end').filter(({ pid }) => pid === victim).length;
    expect(data.counts.acked).toBe(fleet.runs('end').length - endedByDead);

    const rest = startFleet(cwd, '--processes', '2', '--drain', '--log', 'none');
    expect(await rest.ended).toBe(0);
    const { lost, twice } = faultsOf(rest, 200);
    expect(lost).toEqual([]);
    // The kill may fall between the end of a handler and the ack of its job, for each of the two slots.
    const lastOfDead = fleet
      .runs('end')
      .filter(({ pid }) => pid === victim)
      .slice(-2);
    expect(lastOfDead.map(({ n }) => n)).toEqual(expect.arrayContaining(twice));
    expect(rest.stdout()).toMatch(/^\d+ runs in /);
  });

  it('ends its processes when it is killed, and they finish their jobs', async ({ expect }) => {
    const cwd = make({ 'longshore.config.ts': config });
    await enqueue(cwd, 60, 400);
    const fleet = startFleet(cwd, '--processes', '2', '--concurrency', '2', '--log', 'none');
    await fleet.until(() => pidsOf(fleet).length === 2);
    fleet.process.kill('SIGKILL');
    await fleet.until(() => !pidsOf(fleet).some(isAlive));
    expect(fleet.runs('end').length).toBe(fleet.runs('begin').length);
    expect(fleet.runs('end').length).toBeLessThan(60); // else they ended because nothing was left
    const rest = startFleet(cwd, '--processes', '1', '--drain', '--log', 'none');
    expect(await rest.ended).toBe(0);
    expect(faultsOf(rest, 60)).toEqual({ twice: [], lost: [] });
  });

  it('kills all at the second signal', async ({ expect }) => {
    const cwd = make({ 'longshore.config.ts': config });
    await enqueue(cwd, 2, 60_000);
    const fleet = startFleet(cwd, '--processes', '2', '--concurrency', '1', '--log', 'none');
    await fleet.until(() => pidsOf(fleet).length === 2);
    fleet.process.kill('SIGTERM');
    await new Promise((wake) => setTimeout(wake, 400));
    fleet.process.kill('SIGTERM');
    expect(await fleet.ended).toBe(143);
    await fleet.until(() => !pidsOf(fleet).some(isAlive));
  });

  it('adds the numbers of all processes, also of those that were replaced', async ({ expect }) => {
    const cwd = make({ 'longshore.config.ts': config });
    await enqueue(cwd, 30, 30);
    const limits = ['--max-jobs', '11', '--concurrency', '1', '--log', 'json'];
    const fleet = startFleet(cwd, '--processes', '2', '--metrics-port', '0', ...limits);
    await fleet.until(() => faultsOf(fleet, 30).lost.length === 0);
    await fleet.until(() => pidsOf(fleet).length >= 3);
    const url = /Metrics are at (\S+)/.exec(fleet.stderr())![1]!;
    let text = '';
    for (let i = 0; i < 100 && !thirty.test(text); i++) {
      text = await (await fetch(url)).text();
      await new Promise((wake) => setTimeout(wake, 50));
    }
    expect(text).toMatch(thirty);
    const health = async () => (await fetch(url.replace('/metrics', '/healthz'))).status;
    for (let i = 0; i < 100 && (await health()) !== 200; i++)
      await new Promise((wake) => setTimeout(wake, 50));
    expect(await health()).toBe(200);
    expect(new Set(fleet.stdout().match(/"process":\d/g))).toEqual(new Set(['"process":1', '"process":2']));
    fleet.process.kill('SIGTERM');
    expect(await fleet.ended).toBe(0);
  });

  it('ends with the code of a process that cannot start, and says why once', async ({ expect }) => {
    const broken = startFleet(make({ 'longshore.config.ts': 'throw new Error("no")' }), '--processes', '2');
    expect(await broken.ended).toBe(1);
    expect(broken.stderr()).toMatch(/^CONFIG: longshore.config.ts could not be loaded: .*no\.\n$/);

    for (const backend of ['memory()', "sqlite(':memory:')", "sqlite('file::memory:')"]) {
      const alone = startFleet(make({ 'longshore.config.ts': shopOn(backend) }), '--processes', '2');
      expect(await alone.ended).toBe(2);
      const name = backend.slice(0, backend.indexOf('('));
      expect(alone.stderr()).toBe(
        `USAGE: Backend "${name}" keeps its jobs in the memory of one process, and --processes starts several. Leave --processes out, or keep the jobs in a file: sqlite('jobs.db').\n`,
      );
    }

    const once = startFleet(make({ 'longshore.config.ts': config }), '--processes', '2', '--once');
    expect(await once.ended).toBe(2);
    expect(once.stderr()).toMatch(/--once.*--processes/);

    const many = startFleet(make({ 'longshore.config.ts': config }), '--processes', 'all');
    expect(await many.ended).toBe(2);
    expect(many.stderr()).toMatch(/Expected auto or an integer from 1 to 256/);
  });

  it('gives up on a process that cannot start again', async ({ expect }) => {
    const cwd = make({
      'longshore.config.ts': `${config}
import { existsSync } from 'node:fs';
if (existsSync(import.meta.dirname + '/runs')) throw new Error('changed');`,
    });
    await enqueue(cwd, 1, 100);
    const fleet = startFleet(cwd, '--processes', '1', '--max-jobs', '1', '--log', 'none');
    expect(await fleet.ended).toBe(1);
    expect(fleet.stderr()).toMatch(/Another one starts in 1 s\.[\s\S]*starts in 8 s\./);
    expect(fleet.stderr()).toMatch(/INTERNAL: Process 1 ended 5 times in a row, .*exit code 1/);
  });
});
