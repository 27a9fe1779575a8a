/** Worker processes that are killed again and again while they are at work. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';

const killEveryMs = 200;
/** Then the work may be finished in peace: a slow machine starts workers more slowly than they are killed. */
const mostKills = 30;

export interface Workers {
  /** Kills one after the other and starts another instead, until `isOver`. Returns how many were killed. */
  killUntil(isOver: () => boolean | Promise<boolean>, withinMs: number): Promise<number>;
  /** What they wrote to standard error, and how many have ended by themselves. */
  trouble(): { readonly failures: string; readonly gone: number };
  end(): void;
}

/** @param script says something on standard output when it is at work */
export function startWorkers(count: number, script: string, args: readonly string[]): Workers {
  const living: ChildProcess[] = [];
  const atWork = new Set<ChildProcess>();
  let failures = '';

  function launch(): void {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout!.once('data', () => atWork.add(child));
    child.stderr!.on('data', (text) => {
      failures += text;
    });
    living.push(child);
  }

  for (let i = 0; i < count; i++) launch();
  return {
    async killUntil(isOver, withinMs) {
      let kills = 0;
      const deadline = Date.now() + withinMs;
      while (!(await isOver()) && Date.now() < deadline) {
        await delay(killEveryMs); // the rhythm of the killer: there is nothing to wait for
        const victim = living.find((child) => atWork.has(child)); // the one that has worked longest
        if (!victim || kills === mostKills) continue;
        living.splice(living.indexOf(victim), 1);
        const ended = once(victim, 'exit');
        victim.kill('SIGKILL');
        await ended;
        kills++;
        launch();
      }
      return kills;
    },
    trouble: () => ({ failures, gone: living.filter(({ exitCode }) => exitCode !== null).length }),
    end() {
      for (const child of living) child.kill('SIGKILL');
    },
  };
}

/** Every plain job has had its effect, every key exactly one, and no two runs of a key met. */
export function expectEffects(effects: DatabaseSync, plainIds: readonly string[], keys: number): void {
  const count = (sql: string) => (effects.prepare(sql).get() as { n: number }).n;
  const rows = effects.prepare('SELECT id FROM effects').all();
  const done = new Set(rows.map(({ id }) => id));
  expect(plainIds.filter((id) => !done.has(id))).toEqual([]);
  expect(count('SELECT count(*) AS n FROM charges')).toBe(keys);
  expect(count('SELECT count(*) AS n FROM overlaps')).toBe(0);
}
