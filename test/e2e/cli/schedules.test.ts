/** `longshore schedule show`: the last runs of a schedule and the moments it left out, for people. */

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { cli, json, project, shopConfig } from './kit.ts';

/** As a tick leaves it, which has found nothing ticked for three hours. */
async function leaveOut(cwd: string): Promise<void> {
  const backend = sqlite(join(cwd, 'jobs.db'));
  const { keys } = backend.stores!;
  await keys.claim('schedule:hourly', 'test', Date.now() + 1_000);
  const at = Date.parse('2026-01-15T09:00:00.000Z');
  const skipped = [{ at, lastAt: at + 2 * 3_600_000, count: 3, reason: 'missed' }];
  const value = JSON.stringify({ at: Date.parse('2026-01-15T12:00:00.000Z'), lastId: null, skipped });
  await keys.release('schedule:hourly', 'test', { value, keepUntil: Date.now() + 86_400_000 });
  await backend.close();
}

describe('schedule show', () => {
  it('lists runs with outcome and duration, and what was left out', async () => {
    const cwd = project();
    const hour = (hours: string) => `schedule:hourly@2026-01-15T${hours}:00:00.000Z`;
    await cli(cwd, ['enqueue', 'greet', '{"name":"hour"}', '--key', hour('12')]);
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    await leaveOut(cwd);
    const { code, stdout } = await cli(cwd, ['schedule', 'show', 'hourly']);
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines).toContainEqual(expect.stringMatching(/^timing +0 \* \* \* \* \(UTC\)$/));
    expect(lines).toContainEqual(expect.stringMatching(/^next +2026-01-15T13:00:00.000Z/));
    expect(lines).toContainEqual(
      expect.stringMatching(/^2026-01-15T12:00:00.000Z +completed +[\d.]+ m?s +\S+, .* late$/),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^2026-01-15T09:00:00.000Z +skipped +3 moments until 2026-01-15T11/),
    );
    expect((await cli(cwd, ['schedule', 'list', '--last'])).stdout).toMatch(/completed [\d.]+ m?s/);
  });

  it('says that a schedule is paused, and that it is neither late nor due', async () => {
    const cwd = project();
    const backend = sqlite(join(cwd, 'jobs.db'));
    const { keys } = backend.stores!;
    await keys.claim('schedule:hourly', 'test', Date.now() + 1_000);
    const at = Date.parse('2026-01-15T12:00:00.000Z');
    const skipped = [{ at, lastAt: at, count: 1, reason: 'paused' }];
    const value = JSON.stringify({ at, lastId: null, skipped, pausedAt: at - 1_800_000 });
    await keys.release('schedule:hourly', 'test', { value, keepUntil: Date.now() + 86_400_000 });
    await backend.close();
    const { stdout } = await cli(cwd, ['schedule', 'show', 'hourly']);
    expect(stdout).toMatch(/^next +paused since 2026-01-15T11:30:00.000Z \(.+ ago\)$/m);
    expect(stdout).toMatch(/^2026-01-15T12:00:00.000Z +skipped +the schedule was paused$/m);
    expect((await cli(cwd, ['schedule', 'list', '--last'])).stdout).toMatch(
      / paused for \S+.* skipped \(paused\)$/m,
    );
    const shown = await json(cwd, ['schedule', 'show', 'hourly']);
    expect(shown.data).toMatchObject({ pausedAt: at - 1_800_000, nextAt: null });
    expect((await cli(cwd, ['health', '--max-late', '1m'])).stdout).toContain(
      'every schedule is checked in time',
    );
  });

  it('shows a schedule that nothing has ticked', async () => {
    const { code, stdout } = await cli(project(), ['schedule', 'show', 'hourly']);
    expect(code).toBe(0);
    expect(stdout).toContain('Nothing has fallen due yet.');
    expect((await cli(project(), ['schedule', 'list', '--last'])).stdout).toMatch(/none$/m);
  });

  it('tells jobs whose records are gone from none', async () => {
    const cwd = project({
      'longshore.config.ts': shopConfig.replace(
        "name: 'greet',",
        "name: 'greet', retention: { completedMs: 0 },",
      ),
    });
    const backend = sqlite(join(cwd, 'jobs.db'));
    const { keys } = backend.stores!;
    await keys.claim('schedule:hourly', 'test', Date.now() + 1_000);
    const value = JSON.stringify({ at: Date.parse('2026-01-15T12:00:00.000Z'), lastId: 'job-7' });
    await keys.release('schedule:hourly', 'test', { value, keepUntil: Date.now() + 86_400_000 });
    await backend.close();
    const { stdout } = await cli(cwd, ['schedule', 'show', 'hourly']);
    expect(stdout).toContain('The records of its jobs have been deleted. The last job was job-7.');
    expect((await cli(cwd, ['schedule', 'list', '--last'])).stdout).toMatch(/record deleted$/m);
    const dry = await json(cwd, ['purge', '--dry-run', '--older-than', '1d']);
    expect(dry.data).toMatchObject({ exact: false });
  });

  it('exits 3 for a schedule that is not there', async () => {
    const ended = await json(project(), ['schedule', 'show', 'hurly']);
    expect(ended.code).toBe(3);
    expect(ended.stderr).toContain('Did you mean');
  });
});

describe('schedules made at run time', () => {
  it('are made, listed, run, paused, resumed and removed', async () => {
    const cwd = project();
    const made = await json(cwd, [
      ...['schedule', 'upsert', 'ada', 'greet', '--cron', '0 9 * * 1', '--timezone', 'Europe/Berlin'],
      ...['--payload', '{"name":"Ada"}', '--overlap', 'skip', '--tenant', 'acme'],
    ]);
    expect(made.code).toBe(0);
    expect(made.data).toMatchObject({
      name: 'ada',
      timing: '0 9 * * 1 (Europe/Berlin)',
      job: 'greet',
      overlap: 'skip',
      context: { tenantId: 'acme' },
      pausedAt: null,
    });
    expect((await cli(cwd, ['schedule', 'stored'])).stdout).toMatch(
      /^ada +0 9 \* \* 1 \(Europe\/Berlin\) +greet/m,
    );
    expect((await cli(cwd, ['schedule', 'list', '--last'])).stdout).toMatch(/made at run time\n(.*\n)*ada /);
    const shown = await json(cwd, ['schedule', 'show', 'ada']);
    expect(shown.data).toMatchObject({ schedule: 'ada', entries: [], stored: { job: 'greet' } });
    const ran = await json(cwd, ['schedule', 'run', 'ada']);
    expect(ran.data).toMatchObject({ schedule: 'ada', job: 'greet' });
    expect((await cli(cwd, ['schedule', 'pause', 'ada'])).code).toBe(0);
    expect((await cli(cwd, ['schedule', 'stored'])).stdout).toMatch(/paused for /);
    expect((await cli(cwd, ['schedule', 'resume', 'ada'])).code).toBe(0);
    expect((await cli(cwd, ['schedule', 'remove', 'ada'])).stdout).toContain('ada is removed.');
    expect((await cli(cwd, ['schedule', 'remove', 'ada'])).code).toBe(3);
    expect((await cli(cwd, ['schedule', 'pause', 'ada'])).code).toBe(3);
    const audit = (await cli(cwd, ['audit'])).stdout;
    for (const action of ['upsert', 'run', 'pause', 'resume', 'remove'])
      expect(audit).toContain(`schedule.${action}`);
  });

  it('are told by health when they are late', async () => {
    const cwd = project();
    await cli(cwd, ['schedule', 'upsert', 'ada', 'greet', '--every', '1h', '--payload', '{"name":"Ada"}']);
    await cli(cwd, ['tick']);
    const schedules = async () => {
      const { data } = await json(cwd, ['health', '--min-workers', '0']);
      return (data as { checks: { name: string; ok: boolean }[] }).checks.find(
        ({ name }) => name === 'schedules',
      );
    };
    expect(await schedules()).toMatchObject({ ok: true });
    const backend = sqlite(join(cwd, 'jobs.db'));
    const store = backend.stores!.schedules!;
    const row = (await store.get('ada'))!;
    await store.write({ ...row, nextAt: Date.now() - 600_000 }, row.version);
    await backend.close();
    expect(await schedules()).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^ada is 10 min late/),
    });
  });

  it('are refused in words', async () => {
    const cwd = project();
    const upsert = async (...more: string[]) => {
      const { code, stderr } = await cli(cwd, ['schedule', 'upsert', 'ada', ...more]);
      expect(code).toBe(2);
      return stderr;
    };
    const payload = ['--payload', '{"name":"Ada"}'];
    expect(await upsert('greeet', '--every', '1h', ...payload)).toContain('Did you mean');
    expect(await upsert('greet', ...payload)).toContain('Expected --cron or --every, got neither.');
    expect(await upsert('greet', '--cron', 'soon', ...payload)).toContain('"soon"');
    expect(await upsert('greet', '--every', '1h', '--until', 'soon', ...payload)).toContain("'soon'");
    expect(await upsert('greet', '--every', '1h', '--limit', '0', ...payload)).toContain("'0'");
    expect(await upsert('greet', '--every', '1h', '--payload', '{"name":7}')).toContain('name');
    expect(await upsert('greet', '--every', '1h', '--cron', '0 * * * *', ...payload)).toContain('--cron');
    const inCode = await cli(cwd, ['schedule', 'upsert', 'hourly', 'greet', '--every', '1h', ...payload]);
    expect(inCode.stderr).toContain('no schedule in code');
  });
});
