/** Real workers on Service Bus, killed again and again in the middle of their jobs. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { connect } from '../../core/index.ts';
import { serviceBus } from '../../functions/azure/index.ts';
import { sqliteStore } from '../../local/backends/sqlite/index.ts';
import { startServiceBus } from '../../local/emulate/servicebus/server.ts';
import { crashApp, openEffects } from '../crash/app.ts';

const workers = 3;
const plainJobs = 300;
const keys = 150; // each enqueued twice
/** So long that a busy machine loses no lease of a worker that lives: its handler would go on, beside the next one. */
const leaseMs = 3_000;
const killEveryMs = 200;
const mostKills = 30;

describe('workers on Service Bus that are killed again and again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-servicebus-'));
  const living: ChildProcess[] = [];
  const ready = new Set<ChildProcess>();
  let failures = '';
  afterAll(() => {
    for (const child of living) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('lose nothing, leave nothing behind, and have one effect per idempotency key', {
    timeout: 200_000,
  }, async () => {
    const server = await startServiceBus();
    // A killed worker's messages are seen again when their locks end; killed in a row, one may die many deaths.
    server.createQueue('default', { lockMs: 2_000, duplicateWindowMs: 600_000, maxDeliveryCount: 100 });
    const { connectionString } = server;
    const [storePath, effectsPath] = [join(folder, 'store.db'), join(folder, 'effects.db')];
    const effects = openEffects(effectsPath);
    const store = sqliteStore(storePath);
    const backend = serviceBus({ connectionString, queues: ['default'], keys: store.keys });
    const { app, plain, keyed } = crashApp(null, leaseMs);
    const client = connect(app, backend, { store });
    const payloads = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ n, runMs: 5 + ((n * 7) % 30) }));
    const plainIds = (await client.enqueueMany(plain, payloads(plainJobs))).map(({ id }) => id);
    await client.enqueueMany(keyed, [...payloads(keys), ...payloads(keys)]);

    function launch(): void {
      const script = join(import.meta.dirname, 'crash-worker.ts');
      const args = [connectionString, storePath, effectsPath, String(leaseMs)];
      const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.stdout!.once('data', () => ready.add(child));
      child.stderr!.on('data', (text) => {
        failures += text;
      });
      living.push(child);
    }

    for (let i = 0; i < workers; i++) launch();
    let kills = 0;
    const deadline = Date.now() + 150_000;
    while (server.bodies('default').length > 0 && Date.now() < deadline) {
      await delay(killEveryMs); // the rhythm of the killer: there is nothing to wait for
      const victim = living.find((child) => ready.has(child));
      if (!victim || kills === mostKills) continue;
      living.splice(living.indexOf(victim), 1);
      const ended = once(victim, 'exit');
      victim.kill('SIGKILL');
      await ended;
      kills++;
      launch();
    }
    for (const child of living) child.kill('SIGKILL');

    expect(server.bodies('default')).toEqual([]);
    expect(server.bodies('default/$DeadLetterQueue')).toEqual([]);
    expect(kills).toBeGreaterThan(5);
    expect(failures).toBe('');
    const count = (sql: string) => (effects.prepare(sql).get() as { n: number }).n;
    const done = new Set(
      effects
        .prepare('SELECT id FROM effects')
        .all()
        .map((row) => row.id),
    );
    expect(plainIds.filter((id) => !done.has(id))).toEqual([]);
    expect(count('SELECT count(*) AS n FROM charges')).toBe(keys);
    expect(count('SELECT count(*) AS n FROM overlaps')).toBe(0);
    await client.close();
    effects.close();
    await server.stop();
  });
});
