/** What `longshore doctor` says of an app, its keys, queues, workers and schedules, how it shows it, and with which code it ends. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import type { Finding } from '../../../local/cli/doctor/run-checks.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { cli, from, imports, project, type Surroundings, secret, shopConfig, shopOn } from './kit.ts';

async function doctor(cwd: string, flags: readonly string[] = [], around: Surroundings = {}) {
  const { code, stdout, stderr } = await cli(cwd, ['doctor', '--json', ...flags], around);
  expect(stderr).toBe('');
  const { findings, notChecked, ...sums } = JSON.parse(stdout);
  const found = Object.groupBy(findings as Finding[], ({ id }) => id);
  return { code, found, notChecked: notChecked as { id: string; because: string }[], sums };
}

/** A config of the shop with other options for its app. */
const shopWith = (options: string, more = '') =>
  project({
    'longshore.config.ts': shopConfig.replace(
      'export const app = createApp({',
      `${more}\nexport const app = createApp({ ${options},`,
    ),
  });

async function beat(cwd: string, of: Partial<WorkerBeat>): Promise<void> {
  const backend = sqlite(join(cwd, 'jobs.db'));
  const counts = { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };
  const now = Date.now();
  const rest = { host: 'hafen-1', pid: 7, concurrency: 1, running: 0, counts, memoryBytes: 1 };
  const queues = ['default', 'mail'];
  await backend.stores!.workers!.heartbeat({ id: 'w1', queues, startedAt: now, seenAt: now, ...rest, ...of });
  await backend.close();
}

/** A shop that has been ticked and has a worker. */
async function served(cwd = project()): Promise<string> {
  await cli(cwd, ['tick']);
  await beat(cwd, {});
  return cwd;
}

describe('doctor', () => {
  it('finds nothing worse than notes in a shop that works, and ends with 0', async () => {
    const { code, found, notChecked, sums } = await doctor(await served(), ['--strict']);
    expect(Object.keys(found)).toEqual(['sqlite.synchronous']);
    expect(notChecked.map(({ id }) => id)).toEqual(['clock.skew']);
    expect({ code, sums }).toMatchObject({ code: 0, sums: { errors: 0, warnings: 0, notes: 1 } });
  });

  it('ends with 1 for an error, and for a warning only when that is asked for', async () => {
    const cwd = await served();
    await cli(cwd, ['pause', 'mail']);
    expect(await doctor(cwd)).toMatchObject({
      code: 0,
      found: { 'queues.paused': [{ where: 'queue "mail"' }] },
    });
    expect((await doctor(cwd, ['--strict'])).code).toBe(1);
    const unticked = project();
    await beat(unticked, {});
    expect(await doctor(unticked)).toMatchObject({
      code: 1,
      found: { 'schedules.late': [{ severity: 'error', text: 'hourly was never checked.' }] },
    });
    expect((await cli(cwd, ['doctor', '--max-dead', 'many'])).code).toBe(2);
  });

  it('finds queues without a worker, the worse when jobs wait in them', async () => {
    const cwd = project();
    await cli(cwd, ['tick']);
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    const { found } = await doctor(cwd);
    expect(found['queues.unserved']).toMatchObject([
      { where: 'queue "default"', severity: 'error', text: expect.stringMatching(/^1 job ready/) },
      { where: 'queue "mail"', severity: 'warning' },
    ]);
    await beat(cwd, {});
    expect((await doctor(cwd)).found).not.toHaveProperty(['queues.unserved']);
  });

  it('finds jobs in a queue that no job of the app names', async () => {
    const cwd = await served();
    const backend = sqlite(join(cwd, 'jobs.db'));
    const message = { job: 'x', body: '{}', priority: 5, notBefore: null, group: null, tenantId: null };
    await backend.enqueue([{ id: 'a', queue: 'forgotten', ...message }]);
    await backend.close();
    expect((await doctor(cwd)).found).toMatchObject({ 'queues.unknown': [{ where: 'queue "forgotten"' }] });
  });

  it('finds more dead letters than are allowed', async () => {
    const cwd = await served();
    await cli(cwd, ['enqueue', 'mail.send', '{"to":"nobody"}']);
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    expect((await doctor(cwd)).found).not.toHaveProperty(['dead.budget']);
    expect((await doctor(cwd, ['--max-dead', '0'])).found).toMatchObject({
      'dead.budget': [
        {
          text: expect.stringMatching(/^1 dead letter, at most 0 expected/),
          remedy: expect.stringMatching(/longshore dead list --queue mail/),
        },
      ],
    });
  });

  it('finds alerts that fire, and says of one that cannot tell', async () => {
    const shop = (rule: string) =>
      shopWith(
        `alerts: defineAlerts({ rules: [${rule}], to: sendTo(() => {}) })`,
        `import { alert, defineAlerts, sendTo } from ${from('core/features/alerts/index.ts')};`,
      );
    const cwd = shop('alert.depth({ above: 0, forMs: 0 })');
    expect((await doctor(cwd)).found).not.toHaveProperty(['alerts.firing']);
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    await cli(cwd, ['tick']);
    expect((await doctor(cwd)).found).toMatchObject({
      'alerts.firing': [
        { where: 'alert "QueueDepthHigh"', text: expect.stringMatching(/^It fires \(\w+\): "default"/) },
      ],
    });
    const blind = shop("alert.custom({ name: 'Blind', when: () => { throw new Error('no such table'); } })");
    expect((await doctor(blind)).notChecked).toContainEqual({
      id: 'alerts.firing',
      because: expect.stringMatching(/^Blind cannot tell: .*no such table/),
    });
  });
});

describe('doctor, of a template', () => {
  it('finds the file that is named from where the command runs, not from the config', async () => {
    const cwd = project({ 'config/longshore.config.ts': shopConfig });
    mkdirSync(join(cwd, 'dist'));
    const mapping = {
      Type: 'AWS::Lambda::EventSourceMapping',
      Properties: { EventSourceArn: { Ref: 'Mail' } },
    };
    const Resources = { Mail: { Type: 'AWS::SQS::Queue' }, mapping };
    writeFileSync(join(cwd, 'dist/template.json'), JSON.stringify({ Resources }));
    const flags = ['--config', 'config/longshore.config.ts', '--template', 'dist/template.json'];
    expect(Object.keys((await doctor(cwd, flags)).found)).toContain('aws.batch');
  });
});

describe('doctor, of keys', () => {
  it('finds that none can be used, and goes on with what needs none', async () => {
    const without = project({
      'longshore.config.ts': `${imports}
        export const app = { ...createApp({ jobs: [defineJob({ name: 'a', payload: z.null(), handle() {} })] }),
          keyRing() { throw new longshore.LongshoreError('CONFIG', 'Expected signing keys, got none.'); } };
        export const backend = () => memory();`,
    });
    const missing = await doctor(without);
    expect(missing.found['keys.missing']).toMatchObject([
      { severity: 'error', text: expect.stringMatching(/CONFIG: Expected signing keys/) },
    ]);
    expect(Object.keys(missing.found)).toEqual(['keys.missing']);
    expect(missing.notChecked).toContainEqual({
      id: 'queues.unserved',
      because: 'there is no usable signing key',
    });
    expect(missing.notChecked.map(({ id }) => id)).toContain('backend.settings');
    expect(missing.code).toBe(1);
    expect((await doctor(project())).found).not.toHaveProperty(['keys.missing']);
  });

  const ring = (kids: readonly string[], until = '') => {
    const keys = kids.map((kid, i) => `{ kid: '${kid}', secret: new Uint8Array(32).fill(${i}) }`);
    return `signing: longshore.keyRing([${keys}], { ${until} })`;
  };

  it('finds a key of development in production, and only there', async () => {
    const cwd = await served(shopWith(ring(['dev-1a2b'])));
    const env = { NODE_ENV: 'production', LONGSHORE_SIGNING_KEYS: `k:${secret}` };
    expect((await doctor(cwd, [], { env })).found).toMatchObject({
      'keys.development': [{ severity: 'error' }],
    });
    expect((await doctor(cwd)).found).not.toHaveProperty(['keys.development']);
    const own = await served(shopWith(ring(['k1'])));
    expect((await doctor(own, [], { env })).found).not.toHaveProperty(['keys.development']);
  });

  it('finds workers of other hosts, which do not have this development key', async () => {
    const cwd = await served(shopWith(ring(['dev-1a2b'])));
    expect((await doctor(cwd)).found).toMatchObject({ 'keys.shared': [{ where: 'hafen-1' }] });
    const own = await served(shopWith(ring(['k1'])));
    expect((await doctor(own)).found).not.toHaveProperty(['keys.shared']);
  });

  it('finds rotations that were never ended', async () => {
    expect((await doctor(shopWith(ring(['a', 'b', 'c'])))).found).toMatchObject({
      'keys.rotation': [
        { severity: 'note', text: expect.stringMatching(/^3 keys verify messages \(a, b, c\)/) },
      ],
    });
    expect((await doctor(shopWith(ring(['a', 'b'])))).found).not.toHaveProperty(['keys.rotation']);
  });

  it('finds the date until which unsigned messages are taken: far, ordinary, near and over', async () => {
    const day = 86_400_000;
    const until = Date.parse('2026-06-01T00:00:00Z');
    const cwd = shopWith(ring(['a'], `acceptUnsignedUntil: new Date(${until})`));
    const at = async (now: number) => {
      const [found] = (await doctor(cwd, [], { clock: createVirtualClock(now) })).found['keys.unsigned']!;
      return [found!.severity, found!.text.split(/[ ,]/)[0]];
    };
    expect(await at(until - 31 * day)).toEqual(['error', 'Unsigned']);
    expect(await at(until - 8 * day)).toEqual(['warning', 'Unsigned']);
    expect(await at(until - day)).toEqual(['warning', 'From']);
    expect(await at(until)).toEqual(['note', 'acceptUnsignedUntil']);
    expect((await doctor(shopWith(ring(['a'])))).found).not.toHaveProperty(['keys.unsigned']);
  });

  it('finds messages that were refused lately, by what is wrong with them', async () => {
    const cwd = await served();
    const env = { LONGSHORE_SIGNING_KEYS: `k:${secret}` };
    expect((await doctor(cwd)).found).not.toHaveProperty(['keys.refused']);
    const backend = sqlite(join(cwd, 'jobs.db'));
    const message = {
      job: 'greet',
      queue: 'default',
      priority: 5,
      notBefore: null,
      group: null,
      tenantId: null,
    };
    await backend.enqueue([{ id: 'forged', body: '{"id":"forged"}', ...message }]);
    await backend.close();
    await cli(cwd, ['work', '--drain', '--no-schedules'], { env });
    expect((await doctor(cwd)).found['keys.refused']).toMatchObject([
      {
        where: 'queue "default"',
        text: expect.stringMatching(/^1 message of the last 24 h was refused with SIGNATURE/),
      },
    ]);
    const later = createVirtualClock(Date.now() + 86_400_000);
    expect((await doctor(cwd, [], { clock: later })).found).not.toHaveProperty(['keys.refused']);
  });
});

describe('doctor, of clocks', () => {
  const shiftedBy = (ms: number) =>
    project({
      'longshore.config.ts': shopOn(
        `() => ({ ...sqlite(import.meta.dirname + '/jobs.db'), now: async () => ${Date.parse('2026-06-01') + ms} })`,
      ),
    });
  const clock = () => createVirtualClock(Date.parse('2026-06-01'));

  it.each([
    [5_000, 'warning', 'behind'],
    [-60_000, 'error', 'ahead of'],
  ])('finds that of the backend %d ms apart: %s', async (ms, severity, word) => {
    const { found } = await doctor(shiftedBy(ms), [], { clock: clock() });
    expect(found['clock.skew']).toEqual([
      expect.objectContaining({ severity, text: expect.stringContaining(word) }),
    ]);
  });

  it('finds nothing where they agree', async () => {
    expect((await doctor(shiftedBy(900), [], { clock: clock() })).found).not.toHaveProperty(['clock.skew']);
  });

  it('finds a host whose workers live in the future', async () => {
    const cwd = await served();
    expect((await doctor(cwd)).found).not.toHaveProperty(['workers.clock']);
    await beat(cwd, { id: 'w2', host: 'kran-2', seenAt: Date.now() + 60_000 });
    expect((await doctor(cwd)).found).toMatchObject({ 'workers.clock': [{ where: 'kran-2' }] });
  });
});

describe('doctor, of a backend', () => {
  const withBackend = (text: string) => project({ 'longshore.config.ts': shopOn(text) });

  it('finds one that does not answer, and says what is not checked for that', async () => {
    const cwd = withBackend("() => { throw new longshore.LongshoreError('BACKEND', 'Nobody is there.'); }");
    const { code, found, notChecked } = await doctor(cwd);
    expect(code).toBe(1);
    expect(Object.keys(found)).toEqual(['backend.answers']);
    expect(new Set(notChecked.map(({ because }) => because))).toEqual(
      new Set(['the backend does not answer']),
    );
    expect(notChecked.length).toBeGreaterThan(8);
  });

  it('asks one that was opened and does not answer why that may be', async () => {
    const checks = `[
      { id: 'own.role', severity: 'error', look: () => [{ where: 'here', text: 'A replica.', remedy: 'Go.' }] },
      { id: 'own.throws', severity: 'error', look() { throw new Error('broken glass'); } }]`;
    const cwd = withBackend(
      `() => ({ ...memory(), admin: { stats() { throw new Error('no'); }, diagnose: async () => ${checks} } })`,
    );
    const { found, notChecked } = await doctor(cwd);
    expect(Object.keys(found)).toEqual(['backend.answers', 'own.role']);
    expect(notChecked).toContainEqual({ id: 'own.throws', because: 'the backend does not answer' });
  });

  it('says that nobody knows when a payload store removes what is left over', async () => {
    const cwd = withBackend(
      '() => ({ ...memory(), stores: { ...memory().stores, payloads: { async get() {}, async put() {}, async delete() {} } } })',
    );
    const { notChecked } = await doctor(cwd);
    expect(notChecked.map(({ id }) => id)).toContain('payloads.lifecycle');
    const { notChecked: without } = await doctor(withBackend('() => memory()'));
    expect(without.map(({ id }) => id)).not.toContain('payloads.lifecycle');
  });

  it('finds a job that may run longer than a lease', async () => {
    const held = (ms: number | null) =>
      `() => ({ ...memory(), limits: { maxBodyBytes: 1e6, maxDelayMs: null, maxLeaseMs: ${ms} } })`;
    const { found } = await doctor(withBackend(held(300_000 - 1)));
    expect(found['jobs.lease']).toHaveLength(3);
    expect((await doctor(withBackend(held(300_000)))).found).not.toHaveProperty(['jobs.lease']);
  });

  it('takes a check that throws and one that hangs for findings, and goes on', async () => {
    const checks = `[
      { id: 'own.throws', severity: 'error', look() { throw new Error('broken glass'); } },
      { id: 'own.hangs', severity: 'warning', look: () => new Promise(() => {}) },
      { id: 'own.works', severity: 'note', look: async () => [{ where: 'here', text: 'Seen.', remedy: 'None.' }] }]`;
    const cwd = withBackend(
      `() => ({ ...memory(), admin: { ...memory().admin, diagnose: async () => ${checks} } })`,
    );
    const { found } = await doctor(cwd, ['--timeout', '50ms']);
    expect(found).toMatchObject({
      'own.throws': [{ severity: 'error', text: expect.stringMatching(/It failed: INTERNAL: broken glass/) }],
      'own.hangs': [{ severity: 'warning', text: 'It had no answer within 50 ms.' }],
      'own.works': [{ where: 'here', text: 'Seen.' }],
    });
  });

  it('says of a backend without checks that there are none', async () => {
    const { notChecked } = await doctor(withBackend('() => memory()'));
    expect(notChecked).toContainEqual({
      id: 'backend.settings',
      because: 'the backend "memory" has no checks',
    });
  });
});

describe('on a terminal', () => {
  it('no line is wider than 80 columns, remedies are indented, and the last line counts', async () => {
    const cwd = project();
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    const { stdout } = await cli(cwd, ['doctor', '--no-color'], { isTTY: true, columns: 80 });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.filter((line) => line.length > 80 && line.trim().includes(' '))).toEqual([]);
    expect(lines).toContain(
      '  error queues.unserved, queue "default": 1 job ready, and no worker serves it.',
    );
    expect(lines).toContain('      Start one with longshore work default.');
    expect(lines.at(-1)).toMatch(/^\d+ checks, 2 errors, 1 warning, 1 note, 1 not checked$/);
  });

  it('finds schedules made at run time that no key has signed', async () => {
    const cwd = await served();
    for (const name of ['ada', 'bob'])
      await cli(cwd, ['schedule', 'upsert', name, 'greet', '--every', '1h', '--payload', '{"name":"Ada"}']);
    expect((await doctor(cwd)).found).not.toHaveProperty(['keys.schedules']);
    const backend = sqlite(join(cwd, 'jobs.db'));
    const store = backend.stores!.schedules!;
    const row = (await store.get('bob'))!;
    await store.write({ ...row, text: row.text.replace('"Ada"', '"Eve"') }, row.version);
    await backend.close();
    expect(await doctor(cwd)).toMatchObject({
      code: 1,
      found: {
        'keys.schedules': [
          { where: 'schedule "bob"', text: expect.stringMatching(/^It enqueues nothing: SIGNATURE: /) },
        ],
      },
    });
    const { stdout } = await cli(cwd, ['schedule', 'show', 'bob']);
    expect(stdout).toMatch(/fails +SIGNATURE: /);
    expect(stdout).not.toContain('Eve');
  });
});
