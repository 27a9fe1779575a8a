/** What `longshore health` says of workers, dead letters and schedules, and what to do. */

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connect } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { cli, project } from './kit.ts';

type Checks = Record<string, { readonly ok: boolean | null; readonly detail: string }>;

async function health(cwd: string, flags: readonly string[], clock = createVirtualClock(Date.now())) {
  const { code, stdout } = await cli(cwd, ['health', '--json', ...flags], { clock });
  const checks = JSON.parse(stdout).checks as { name: string; ok: boolean | null; detail: string }[];
  return { code, checks: Object.fromEntries(checks.map(({ name, ...rest }) => [name, rest])) as Checks };
}

/** Writes the heartbeat of a worker of these queues, as one that runs would. */
async function beat(cwd: string, queues: readonly string[], seenAt = Date.now()): Promise<void> {
  const backend = await sqlite(join(cwd, 'jobs.db'));
  const counts = { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };
  const about = { host: 'hafen-1', pid: 7, concurrency: 1, running: 0, counts, memoryBytes: 1 };
  await backend.stores!.workers!.heartbeat({
    id: `w-${queues}`,
    queues,
    startedAt: seenAt,
    seenAt,
    ...about,
  });
  await backend.close();
}

describe('health', () => {
  it('names the queues whose jobs wait and that no healthy worker serves', async () => {
    const cwd = project();
    await cli(cwd, ['tick']);
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    await cli(cwd, ['enqueue', 'mail.send', '{"to":"Ada"}']);
    await beat(cwd, ['mail']);
    const bad = await health(cwd, []);
    expect(bad.code).toBe(1);
    expect(bad.checks.queues).toEqual({
      ok: false,
      detail: 'no worker serves default. Start one with longshore work default',
    });
    await cli(cwd, ['pause', 'default']);
    expect((await health(cwd, [])).code).toBe(0);
    await cli(cwd, ['resume', 'default']);
    await beat(cwd, ['default']);
    expect(await health(cwd, [])).toMatchObject({ code: 0, checks: { queues: { ok: true } } });
    const later = createVirtualClock(Date.now() + 16_000);
    expect(await health(cwd, [], later)).toMatchObject({
      code: 1,
      checks: {
        workers: {
          ok: false,
          detail: '0 workers seen within 15 s, expected 1. Start one with longshore work',
        },
        queues: { ok: false, detail: expect.stringMatching(/no worker serves default, mail/) },
      },
    });
    expect((await health(cwd, ['--min-workers', '0'], later)).checks).not.toHaveProperty('queues'); // functions may serve them
  });

  it('goes on under a line where a detail is too long for it', async () => {
    const flags = ['health', '--no-color', '--max-age', '1h'];
    const { stdout } = await cli(project(), flags, { isTTY: true, columns: 80 });
    const lines = stdout.split('\n');
    expect(lines).toContainEqual(expect.stringMatching(/^ok {3}keys +signs with/));
    expect(lines).toContainEqual(expect.stringMatching(/^bad {2}schedules$/));
    expect(lines).toContainEqual(expect.stringMatching(/^ {4}hourly was never checked\. A worker/));
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  });

  it('says what to do where jobs wait for too long', async () => {
    const cwd = project();
    await cli(cwd, ['tick']);
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    await beat(cwd, ['default']);
    await expect
      .poll(async () => (await health(cwd, ['--max-age', '1ms'])).checks.age)
      .toEqual({
        ok: false,
        detail: expect.stringMatching(
          /^the oldest ready job waits .* in default, longer than 1 ms\. Start more workers/,
        ),
      });
  });

  it('counts dead letters, and is bad when there are more than allowed', async () => {
    const cwd = project();
    await cli(cwd, ['tick']);
    for (let i = 0; i < 3; i++) await cli(cwd, ['enqueue', 'mail.send', '{"to":"nobody"}']);
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    const flags = ['--min-workers', '0'];
    expect(await health(cwd, flags)).toMatchObject({
      code: 0,
      checks: { dead: { ok: true, detail: '3 dead letters' } },
    });
    expect((await health(cwd, [...flags, '--max-dead', '3'])).code).toBe(0);
    expect(await health(cwd, [...flags, '--max-dead', '2'])).toMatchObject({
      code: 1,
      checks: {
        dead: {
          ok: false,
          detail:
            '3 dead letters, at most 2 expected, most of them in mail. See longshore dead list --queue mail',
        },
      },
    });
  });

  it('says which schedules nobody checks, and disturbs no tick', async () => {
    const cwd = project();
    const flags = ['--min-workers', '0'];
    const first = await health(cwd, flags);
    expect(first).toMatchObject({
      code: 1,
      checks: {
        schedules: {
          ok: false,
          detail: expect.stringMatching(
            /^hourly was never checked\. .*longshore tick every minute\. Why one fails: /,
          ),
        },
      },
    });
    const now = Date.now();
    await cli(cwd, ['tick'], { clock: createVirtualClock(now) });
    expect((await health(cwd, flags)).code).toBe(0);
    const due = Math.floor(now / 3_600_000) * 3_600_000 + 3_600_000;
    const late = createVirtualClock(due + 119_000);
    expect((await health(cwd, flags, late)).checks.schedules).toMatchObject({ ok: true });
    late.advance(121_000);
    expect((await health(cwd, flags, late)).checks.schedules).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^hourly is 4 min late\./),
    });
    expect((await health(cwd, [...flags, '--max-late', '1h'], late)).checks.schedules).toMatchObject({
      ok: true,
    });
  });

  it('leaves a schedule where its last tick has left it', async () => {
    const cwd = project();
    const { app } = await import(join(cwd, 'longshore.config.ts'));
    const backend = await sqlite(join(cwd, 'jobs.db'));
    const { keys } = connect(app, backend).stores;
    await cli(cwd, ['tick']);
    const kept = async () => {
      const claim = await keys.claim('schedule:hourly', 'test', Date.now() + 10_000);
      const value = claim.state === 'claimed' ? claim.value : claim.state;
      await keys.release('schedule:hourly', 'test', { value: value!, keepUntil: Date.now() + 86_400_000 });
      return value;
    };
    const before = await kept();
    await health(cwd, []);
    await health(cwd, []);
    expect(await kept()).toBe(before);
    await backend.close();
  });
});
