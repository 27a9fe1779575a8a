/** Real workers on a real queue, killed again and again in the middle of their jobs. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { connect } from '../../core/index.ts';
import { crashApp, openEffects } from './app.ts';
import { type BackendName, openers } from './backends.ts';

const workers = 4;
/** Jobs that one of them runs at a time, see worker.ts. */
const slots = 10;
const plainJobs = 1_000;
const keys = 500; // each enqueued twice
/** Long enough for a worker on a busy machine to renew it. */
const leaseMs = 2_000;
const killEveryMs = 200;
/** Then the work may be finished in peace: a slow machine starts workers more slowly than they are killed. */
const mostKills = 30;

export interface CrashSite {
  /** A queue that is empty: its path or URL, as the backend takes it. `folder` is for whoever needs one. */
  address(folder: string): Promise<string> | string;
  /** Key and ack are no single write: a worker may be killed between them, and then the message that ran is skipped. */
  readonly keysApart?: boolean;
  /** Follows the test. */
  clear?(): Promise<void>;
}

export function describeCrash(name: BackendName, site: CrashSite): void {
  describe(`workers on ${name} that are killed again and again`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'longshore-crash-'));
    const effectsPath = join(folder, 'effects.db');
    const living: ChildProcess[] = [];
    const atWork = new Set<ChildProcess>();
    const script = join(import.meta.dirname, 'worker.ts');
    let failures = '';

    function launch(address: string): ChildProcess {
      const args = [
        '--disable-warning=ExperimentalWarning',
        script,
        name,
        address,
        effectsPath,
        String(leaseMs),
      ];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
      child.stdout!.once('data', () => atWork.add(child));
      child.stderr!.on('data', (text) => {
        failures += text;
      });
      return child;
    }

    afterAll(async () => {
      for (const child of living) child.kill('SIGKILL');
      await site.clear?.();
      rmSync(folder, { recursive: true, force: true });
    });

    it('lose nothing, leave nothing in flight, and have one effect per idempotency key', {
      timeout: 300_000,
    }, async () => {
      const effects = openEffects(effectsPath);
      const address = await site.address(folder);
      const { backend, ...state } = openers[name](address);
      const { app, plain, keyed } = crashApp(null, leaseMs);
      const client = connect(app, backend, state);
      const runMs = (n: number) => 5 + ((n * 7) % 30);
      const charges = Array.from({ length: keys }, (_, n) => ({ n, runMs: runMs(n) }));
      const plainIds = (
        await client.enqueueMany(
          plain,
          Array.from({ length: plainJobs }, (_, n) => ({ n, runMs: runMs(n) })),
        )
      ).map(({ id }) => id);
      const keyedIds = (await client.enqueueMany(keyed, [...charges, ...charges])).map(({ id }) => id);

      for (let i = 0; i < workers; i++) living.push(launch(address));
      const stats = async () => (await backend.admin!.stats('default'))[0]!;
      const live = async () => {
        const { ready, delayed, leased } = await stats();
        return ready + delayed + leased;
      };
      let kills = 0;
      const deadline = Date.now() + 240_000;
      while ((await live()) > 0 && Date.now() < deadline) {
        await delay(killEveryMs); // the rhythm of the killer: there is nothing to wait for
        const victim = living.find((child) => atWork.has(child)); // the one that has worked longest
        if (!victim || kills === mostKills) continue;
        living.splice(living.indexOf(victim), 1);
        const ended = once(victim, 'exit');
        victim.kill('SIGKILL');
        await ended;
        kills++;
        living.push(launch(address));
      }
      // First, because workers that ended by themselves leave the queue as they found it.
      const gone = living.filter(({ exitCode }) => exitCode !== null).length;
      expect({ failures, gone }).toEqual({ failures: '', gone: 0 });
      expect(await stats()).toMatchObject({ ready: 0, delayed: 0, leased: 0 });
      for (const child of living) child.kill('SIGKILL');
      expect(kills).toBeGreaterThan(10);
      expect(await backend.admin!.deadLetters.list({})).toEqual([]);

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

      // Of the two messages of a key exactly one was acked as the run that counts; the other was skipped.
      const outcomes = new Map<string, number>();
      let interrupted = 0;
      for (const id of [...plainIds, ...keyedIds]) {
        const record = (await client.status(id))!;
        interrupted += record.attempts.filter(({ outcome }) => outcome === 'interrupted').length;
        // Also where records stand beside the queue: they are told before it is.
        expect(record.status).toBe('completed');
        const last = record.attempts.at(-1)!;
        outcomes.set(last.outcome, (outcomes.get(last.outcome) ?? 0) + 1);
      }
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
