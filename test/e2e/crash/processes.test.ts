/** `longshore work --processes` on real servers: a process is killed and the parent is stopped while jobs wait. */

import { afterAll, describe, it } from 'vitest';
import { addressesWith } from '../../services/databases.ts';
import { enqueue, faultsOf, fleetConfig, pidsOf, startFleet } from '../cli/fleet-kit.ts';
import { project } from '../cli/kit.ts';
import { isAlive } from '../dev/kit.ts';

const after: (() => unknown)[] = [];
const { url } = addressesWith(after);
afterAll(async () => {
  for (const act of after) await act();
});

const jobs = 800;
const slots = 4;

describe.each(['postgres', 'redis'])('longshore work --processes on %s', { timeout: 120_000 }, (kind) => {
  it('loses no job when a process is killed and the parent gets SIGTERM under load', async ({ expect }) => {
    const address = JSON.stringify(await url(kind));
    const cwd = project({ 'longshore.config.ts': fleetConfig(`${kind}(${address})`) });
    await enqueue(cwd, jobs, 40);
    const flags = ['--concurrency', String(slots), '--lease', '1s', '--json'];
    const fleet = startFleet(cwd, '--processes', '2', ...flags);
    await fleet.until(() => pidsOf(fleet).length === 2 && fleet.runs('end').length > 20);
    const [victim] = pidsOf(fleet) as [number];
    process.kill(victim, 'SIGKILL');
    await fleet.until(() => pidsOf(fleet).length === 3);
    fleet.process.kill('SIGTERM');
    expect(await fleet.ended).toBe(0);
    expect(pidsOf(fleet).filter(isAlive)).toEqual([]);
    expect(JSON.parse(fleet.stdout())).toMatchObject({ reason: 'signal', restarts: 1, deadLetters: 0 });
    const begun = fleet.runs('begin').filter(({ pid }) => pid !== victim).length;
    expect(fleet.runs('end').filter(({ pid }) => pid !== victim).length).toBe(begun);
    expect(faultsOf(fleet, jobs).lost.length).toBeGreaterThan(slots); // else it was stopped without load

    const rest = startFleet(cwd, '--processes', '2', '--drain', '--log', 'none');
    expect(await rest.ended).toBe(0);
    const { lost, twice } = faultsOf(rest, jobs);
    expect(lost).toEqual([]);
    // The kill may fall between the end of a handler and the ack of its job, in each slot.
    const endedByDead = fleet.runs('end').filter(({ pid }) => pid === victim);
    expect(endedByDead.map(({ n }) => n)).toEqual(expect.arrayContaining(twice));
    expect(twice.length).toBeLessThanOrEqual(slots);
  });
});
