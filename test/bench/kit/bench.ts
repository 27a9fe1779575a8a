/** Rounds, child processes and scratch folders. Every measurement has a process of its own: no row inherits a heap. */

import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Row {
  readonly name: string;
  /** What Longshore reached, with its unit. */
  readonly reached: string;
  /** What it is compared with; empty when the target is absolute. */
  readonly against: string;
  /** The number the target is about: a ratio, or `reached` itself. `null` = report only, or the rounds differ too much to tell. */
  readonly score: number | null;
  readonly target: string;
  readonly met: boolean | null;
  /** The ratios or amounts of all rounds. */
  readonly samples: readonly number[];
}

/** The lowest and highest sample. */
export const spread = (samples: readonly number[]): readonly [number, number] => [
  Math.min(...samples),
  Math.max(...samples),
];

/** The same work for every call: how long it takes, in ms, says how much else the machine does. */
function fixedWorkMs(): number {
  const startedAt = performance.now();
  for (let i = 0, hash = ''; i < 20_000; i++) hash = createHash('sha256').update(hash).digest('hex');
  return performance.now() - startedAt;
}

/** Measurements of one backend, in groups that can be chosen. */
export interface Suite {
  readonly groups: readonly string[];
  run(bench: Bench, groups: readonly string[]): Promise<Row[]>;
}

export function suite<Service extends { stop(): Promise<void> }>(
  groups: Readonly<Record<string, (bench: Bench, service: Service) => Promise<Row[]>>>,
  start: (bench: Bench) => Promise<Service>,
): Suite {
  return {
    groups: Object.keys(groups),
    async run(bench, names) {
      const service = await start(bench);
      const rows: Row[] = [];
      try {
        for (const name of names) {
          bench.note(`${name} …`);
          // The other groups have taken minutes: their numbers are printed.
          await groups[name]!(bench, service).then(
            (some) => rows.push(...some),
            (error: Error) => {
              bench.note(`${name} failed: ${error.message}`);
              process.exitCode = 1;
            },
          );
        }
      } finally {
        await service.stop();
      }
      return rows;
    },
  };
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
  /** How long the same work took before each measurement, ms. */
  readonly noise: readonly number[];
  /** A new empty folder, removed at the end. */
  folder(): string;
  start<T>(task: string, input: object): Task<T>;
  /** Runs a task from start to end and returns what it measured. */
  run<T>(task: string, input: object): Promise<T>;
  note(text: string): void;
  close(): void;
}

const taskTimeoutMs = 180_000;

/** @param suite whose tasks the child processes know */
export function createBench(
  root: string,
  suite: string,
  childPath: (folder: string) => string,
  rounds: number,
): Bench {
  const scratch = mkdtempSync(join(tmpdir(), 'longshore-bench-'));
  const script = childPath(scratch);
  const children = new Set<ChildProcess>();
  const noise: number[] = [];

  function start<T>(task: string, input: object): Task<T> {
    const child = fork(script, [join(root, 'test/bench'), suite], { execArgv: ['--expose-gc'] });
    children.add(child);
    const ready = Promise.withResolvers<void>();
    const result = Promise.withResolvers<T>();
    const fail = (error: Error) => {
      ready.reject(error);
      result.reject(error);
    };
    ready.promise.catch(() => {}); // most callers only look at the result
    result.promise.catch(() => {}); // others wait for `ready` first, and fail there
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
    noise,
    folder: () => mkdtempSync(join(scratch, 'run-')),
    start,
    run(task, input) {
      noise.push(fixedWorkMs());
      return start<never>(task, input).result;
    },
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
export interface Pair<Result = number> {
  readonly ours: Result;
  readonly theirs: Result;
}

export async function pairs<Result = number>(
  bench: Bench,
  measure: () => Promise<Pair<Result>>,
): Promise<Pair<Result>[]> {
  const measured: Pair<Result>[] = [];
  for (let round = 0; round < bench.rounds; round++) measured.push(await measure());
  return measured;
}

/**
 * Every contender once per round, forwards and then backwards: neighbours stay neighbours, and nobody is always the
 * one who comes after somebody else. Returns what each reached, by round.
 */
export async function contest<Name extends string, Result>(
  bench: Bench,
  names: readonly Name[],
  measure: (name: Name) => Promise<Result>,
): Promise<Record<Name, Result>[]> {
  const rounds: Record<Name, Result>[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    const reached: Partial<Record<Name, Result>> = {};
    for (const name of round % 2 === 0 ? names : names.toReversed()) reached[name] = await measure(name);
    rounds.push(reached as Record<Name, Result>);
  }
  return rounds;
}

/** What the ratio is to be; `null` = report only. A number = at least so much. */
export type Target = number | { readonly most: number } | null;

/** A row whose score is the median of the ratios of all rounds. */
export function ratioRow(
  name: string,
  unit: string,
  measured: readonly Pair[],
  target: Target,
  than: string,
): Row {
  const ratios = measured.map(({ ours, theirs }) => ours / theirs);
  const score = median(ratios);
  const least = typeof target === 'number';
  return {
    name,
    reached: `${amount(median(measured.map(({ ours }) => ours)))} ${unit}`,
    against: `${than} ${amount(median(measured.map(({ theirs }) => theirs)))} ${unit}`,
    score: tells(ratios) ? score : null,
    target: target === null ? 'report' : least ? `≥ ${target} ×` : `≤ ${target.most} ×`,
    met: target === null ? null : least ? score >= target : score <= target.most,
    samples: ratios,
  };
}

/** A ratio says nothing when one contender was faster in one round and the other one in the next. */
function tells(ratios: readonly number[]): boolean {
  const [lowest, highest] = spread(ratios);
  return lowest > 1 || highest < 1;
}

/** A row with a limit of its own; `most` = the target. */
export function limitRow(name: string, unit: string, samples: readonly number[], most: number | null): Row {
  const score = median(samples);
  return boundRow(name, unit, samples, most === null ? null : { text: `≤ ${most}`, met: score <= most });
}

export const leastRow = (name: string, unit: string, samples: readonly number[], least: number): Row =>
  boundRow(name, unit, samples, { text: `≥ ${least}`, met: median(samples) >= least });

function boundRow(
  name: string,
  unit: string,
  samples: readonly number[],
  bound: { readonly text: string; readonly met: boolean } | null,
): Row {
  const score = median(samples);
  return {
    name,
    reached: `${amount(score)} ${unit}`,
    against: '',
    score: bound === null ? null : score,
    target: bound === null ? 'report' : `${bound.text} ${unit}`,
    met: bound === null ? null : bound.met,
    samples,
  };
}

function amount(value: number): string {
  if (value < 1) return value.toPrecision(2);
  return value < 100 ? value.toFixed(value < 10 ? 2 : 1) : count(value);
}

export const count = (value: number): string => Math.round(value).toLocaleString('en');
