/** Real workers on Service Bus, killed again and again in the middle of their jobs. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { connect } from '../../../core/index.ts';
import { serviceBus } from '../../../functions/azure/index.ts';
import { sqliteStore } from '../../../local/backends/sqlite/index.ts';
import { startServiceBus } from '../../../local/simulate/service-bus/server.ts';
import { crashApp, openEffects, payloads } from './app.ts';
import { countEffects, expectEffects, startWorkers, type Workers } from './workers.ts';

const workers = 3;
const kills = 8;
const plainJobs = 300;
const keys = 150; // each enqueued twice
/** So long that a busy machine loses no lease of a worker that lives: its handler would go on, beside the next one. */
const leaseMs = 3_000;

describe.each([false, true])(
  'workers on Service Bus that are killed again and again, sessions: %s',
  (requiresSession) => {
    const folder = mkdtempSync(join(tmpdir(), 'longshore-servicebus-'));
    let crew: Workers | null = null;
    afterAll(() => {
      crew?.end();
      rmSync(folder, { recursive: true, force: true });
    });

    it('lose nothing, leave nothing behind, and have one effect per idempotency key', {
      timeout: 300_000,
    }, async () => {
      const server = await startServiceBus();
      // A killed worker's messages are seen again when their locks end; killed in a row, one may die many deaths.
      const settings = { lockMs: 2_000, duplicateWindowMs: 600_000, maxDeliveryCount: 100 };
      server.createQueue('default', { ...settings, requiresSession });
      const { connectionString } = server;
      const [storePath, effectsPath] = [join(folder, 'store.db'), join(folder, 'effects.db')];
      const effects = openEffects(effectsPath);
      const store = sqliteStore(storePath);
      const sessions = requiresSession ? ['default'] : [];
      const backend = serviceBus({ connectionString, queues: ['default'], sessions, keys: store.keys });
      const { app, plain, keyed } = crashApp(null, leaseMs);
      const client = connect(app, backend, { store });
      const plainIds = (await client.enqueueMany(plain, payloads(plainJobs))).map(({ id }) => id);
      await client.enqueueMany(keyed, [...payloads(keys), ...payloads(keys)]);

      const script = join(import.meta.dirname, 'service-bus-worker.ts');
      const given = [connectionString, storePath, effectsPath, String(leaseMs), ...sessions];
      crew = startWorkers(workers, script, given);
      const progress = () => countEffects(effects);
      const isOver = () => server.bodies('default').length === 0;
      await crew.killAll({ kills, effects: plainJobs + keys, progress, isOver });
      expect(crew.trouble()).toEqual({ failures: '', gone: 0 });
      crew.end();

      expect(server.bodies('default')).toEqual([]);
      expect(server.bodies('default/$DeadLetterQueue')).toEqual([]);
      expectEffects(effects, plainIds, keys);
      await client.close();
      effects.close();
      await server.stop();
    });
  },
);
