/** Real workers on a real queue, killed again and again in the middle of their jobs. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { connect } from '../../../core/index.ts';
import { crashApp, openEffects, payloads } from './app.ts';
import { type BackendName, openers } from './backends.ts';
import { countEffects, expectEffects, startWorkers, type Workers } from './workers.ts';

/** Jobs that one of them runs at a time, see worker.ts. */
const slots = 10;
/** Long enough for a worker on a busy machine to renew it. */
const leaseMs = 4_000;

export interface Extent {
  readonly workers: number;
  readonly kills: number;
  readonly plainJobs: number;
  /** Each is enqueued twice. */
  readonly keys: number;
}

const whole: Extent = { workers: 4, kills: 15, plainJobs: 1_000, keys: 500 };

export interface CrashSite {
  /** A queue that is empty: its path or URL, as the backend takes it. `folder` is for whoever needs one. */
  address(folder: string): Promise<string> | string;
  /** Key and ack are no single write: a worker may be killed between them, and then the message that ran is skipped. */
  readonly keysApart?: boolean;
  /** Follows the test. */
  clear?(): Promise<void>;
}

export function describeCrash(name: BackendName, site: CrashSite, extent: Extent = whole): void {
  const { workers, kills, plainJobs, keys } = extent;
  describe(`workers on ${name} that are killed again and again`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'longshore-crash-'));
    const effectsPath = join(folder, 'effects.db');
    let crew: Workers | null = null;

    afterAll(async () => {
      crew?.end();
      await site.clear?.();
      rmSync(folder, { recursive: true, force: true });
    });

    it('lose nothing, leave nothing in flight, and have one effect per idempotency key', {
      timeout: 300_000,
    }, async () => {
      const effects = openEffects(effectsPath);
      const address = await site.address(folder);
      const { backend, ...state } = await openers[name](address);
      const { app, plain, keyed } = crashApp(null, leaseMs);
      const client = connect(app, backend, state);
      const charges = payloads(keys);
      const plainIds = (await client.enqueueMany(plain, payloads(plainJobs))).map(({ id }) => id);
      const keyedIds = (await client.enqueueMany(keyed, [...charges, ...charges])).map(({ id }) => id);

      const script = join(import.meta.dirname, 'worker.ts');
      crew = startWorkers(workers, script, [name, address, effectsPath, String(leaseMs)]);
      const stats = async () => (await backend.admin!.stats('default'))[0]!;
      const isOver = async () => {
        const { ready, delayed, leased } = await stats();
        return ready + delayed + leased === 0;
      };
      const progress = () => countEffects(effects);
      await crew.killAll({ kills, effects: plainJobs + keys, progress, isOver });
      // First, because workers that ended by themselves leave the queue as they found it.
      expect(crew.trouble()).toEqual({ failures: '', gone: 0 });
      expect(await stats()).toMatchObject({ ready: 0, delayed: 0, leased: 0 });
      crew.end();
      expect(await backend.admin!.deadLetters.list({})).toEqual([]);

      expectEffects(effects, plainIds, keys);

      // Of the two messages of a key exactly one was acked as the run that counts; the other was skipped.
      const outcomes = new Map<string, number>();
      let interrupted = 0;
      const unfinished: unknown[] = [];
      for (const id of [...plainIds, ...keyedIds]) {
        const record = (await client.status(id))!;
        // Also where records stand beside the queue: they are told before it is.
        if (record.status !== 'completed') unfinished.push(record);
        interrupted += record.attempts.filter(({ outcome }) => outcome === 'interrupted').length;
        const last = record.attempts.at(-1)?.outcome ?? 'none';
        outcomes.set(last, (outcomes.get(last) ?? 0) + 1);
      }
      expect(unfinished).toEqual([]);
      const { acked = 0, 'skipped-idempotent': skipped = 0, ...others } = Object.fromEntries(outcomes);
      expect([acked + skipped, others]).toEqual([plainJobs + 2 * keys, {}]);
      const atMost = site.keysApart ? slots * (kills + workers) : 0;
      expect(skipped).toBeGreaterThanOrEqual(keys);
      expect(skipped).toBeLessThanOrEqual(keys + atMost);
      expect(interrupted).toBeGreaterThan(0);
      await client.close();
      effects.close();
    });
  });
}
