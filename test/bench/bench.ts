/** Rounds, child processes and scratch folders. Every measurement has a process of its own: no row inherits a heap. */

import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Row {
  readonly name: string;
  /** What Longshore reached, with its unit. */
  readonly reached: string;
  /** What it is compared with; empty when the target is absolute. */
  readonly against: string;
  /** The number the target is about: a ratio, or `reached` itself. `null` = report only. */
  readonly score: number | null;
  readonly target: string;
  readonly met: boolean | null;
  readonly samples: readonly number[];
}

export interface Task<T> {
  /** Resolves when the child has said that it is set up. */
  readonly ready: Promise<void>;
  readonly result: Promise<T>;
  /** Lets a child that waits for it go on. */
  go(): void;
}

export interface Bench {
  readonly rounds: number;
  readonly root: string;
  /** A new empty folder, removed at the end. */
  folder(): string;
  start<T>(task: string, input: object): Task<T>;
  /** Runs a task from start to end and returns what it measured. */
  run<T>(task: string, input: object): Promise<T>;
  note(text: string): void;
  close(): void;
}

const taskTimeoutMs = 180_000;

export function createBench(root: string, childPath: (folder: string) => string, rounds: number): Bench {
  const scratch = mkdtempSync(join(tmpdir(), 'longshore-bench-'));
  const script = childPath(scratch);
  const children = new Set<ChildProcess>();

  function start<T>(task: string, input: object): Task<T> {
    const child = fork(script, [join(root, 'test/bench')], { execArgv: ['--expose-gc'] });
    children.add(child);
    const ready = Promise.withResolvers<void>();
    const result = Promise.withResolvers<T>();
    const fail = (error: Error) => {
      ready.reject(error);
      result.reject(error);
    };
    ready.promise.catch(() => {}); // most callers only look at the result
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(new Error(`${task} took longer than ${taskTimeoutMs / 1000} s.`));
    }, taskTimeoutMs);
    child.on('message', (message: { ready?: true; result?: T; error?: string }) => {
      if (message.ready) ready.resolve();
      else if (message.error !== undefined) fail(new Error(`${task}: ${message.error}`));
      else result.resolve(message.result as T);
    });
    child.on('error', fail);
    child.on('exit', (code, signal) => {
      clearTimeout(timer);
      children.delete(child);
      fail(new Error(`${task} ended without a result (${signal ?? code}).`));
    });
    child.send({ task, input });
    return { ready: ready.promise, result: result.promise, go: () => child.send({ go: true }) };
  }

  return {
    rounds,
    root,
    folder: () => mkdtempSync(join(scratch, 'run-')),
    start,
    run: (task, input) => start<never>(task, input).result,
    note: (text) => process.stderr.write(`${text}\n`),
    close() {
      for (const child of children) child.kill('SIGKILL');
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(middle)]!;
  return below + (sorted[Math.ceil(middle)]! - below) * (middle % 1);
}

/** One pair per round, always measured right after one another, so that a slow moment of the machine hits both. */
export interface Pair {
  readonly ours: number;
  readonly theirs: number;
}

export async function pairs(bench: Bench, measure: () => Promise<Pair>): Promise<Pair[]> {
  const measured: Pair[] = [];
  for (let round = 0; round < bench.rounds; round++) measured.push(await measure());
  return measured;
}

/** A row whose score is the median of the ratios of all rounds; `least` = the target, `null` = report only. */
export function ratioRow(
  name: string,
  unit: string,
  measured: readonly Pair[],
  least: number | null,
  than: string,
): Row {
  const ratios = measured.map(({ ours, theirs }) => ours / theirs);
  const score = median(ratios);
  return {
    name,
    reached: `${count(median(measured.map(({ ours }) => ours)))} ${unit}`,
    against: `${than} ${count(median(measured.map(({ theirs }) => theirs)))} ${unit}`,
    score,
    target: least === null ? 'report' : `≥ ${least} ×`,
    met: least === null ? null : score >= least,
    samples: ratios,
  };
}

/** A row with a limit of its own; `most` = the target. */
export function limitRow(name: string, unit: string, samples: readonly number[], most: number | null): Row {
  const score = median(samples);
  return {
    name,
    reached: `${score < 100 ? score.toFixed(score < 10 ? 2 : 1) : count(score)} ${unit}`,
    against: '',
    score: most === null ? null : score,
    target: most === null ? 'report' : `≤ ${most} ${unit}`,
    met: most === null ? null : score <= most,
    samples,
  };
}

export const count = (value: number): string => Math.round(value).toLocaleString('en');
