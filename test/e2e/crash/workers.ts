/** Worker processes that are killed again and again while they are at work. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';

const lookEveryMs = 10;

/**
 * When to kill: the kills are spread over the work, so that their number does not depend on how fast a machine starts
 * workers and runs jobs.
 */
export interface Killing {
  readonly kills: number;
  /** How many effects the whole work has, if no job ran twice. */
  readonly effects: number;
  /** How many of them have happened. */
  progress(): number;
  /** Whether nothing is left to do. Asked when the last worker has been killed. */
  isOver(): boolean | Promise<boolean>;
}

export interface Workers {
  /** Kills one after the other and starts another instead; then lets the work end. */
  killAll(killing: Killing): Promise<void>;
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

  async function killOne(): Promise<void> {
    const victim = await found(() => living.find((child) => atWork.has(child))); // the one that has worked longest
    living.splice(living.indexOf(victim), 1);
    const ended = once(victim, 'exit');
    victim.kill('SIGKILL');
    await ended;
    launch();
  }

  for (let i = 0; i < count; i++) launch();
  return {
    async killAll({ kills, effects, progress, isOver }) {
      for (let n = 1; n <= kills; n++) {
        await found(() => progress() >= (n * effects) / (kills + 1));
        await killOne();
      }
      await found(isOver);
    },
    trouble: () => ({ failures, gone: living.filter(({ exitCode }) => exitCode !== null).length }),
    end() {
      for (const child of living) child.kill('SIGKILL');
    },
  };

  /** What workers that end by themselves would never bring is not waited for. */
  async function found<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
    for (;;) {
      const seen = await look();
      if (seen) return seen;
      if (living.some(({ exitCode }) => exitCode !== null)) throw new Error(`A worker ended: ${failures}`);
      await delay(lookEveryMs);
    }
  }
}

/** How many effects there have been. */
export const countEffects = (effects: DatabaseSync): number => countOf(effects, 'effects');

const countOf = (effects: DatabaseSync, table: string): number =>
  (effects.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;

/** Every plain job has had its effect, every key exactly one, and no two runs of a key met. */
export function expectEffects(effects: DatabaseSync, plainIds: readonly string[], keys: number): void {
  const rows = effects.prepare('SELECT id FROM effects').all();
  const done = new Set(rows.map(({ id }) => id));
  expect(plainIds.filter((id) => !done.has(id))).toEqual([]);
  expect(countOf(effects, 'charges')).toBe(keys);
  expect(countOf(effects, 'overlaps')).toBe(0);
}
