/** Rows out of rounds in which several contenders did the same. */

import { type Pair, type Row, ratioRow } from './bench.ts';
import type { Drained } from './contender.ts';
import type { Cpu } from './stopwatch.ts';

/** What everybody reached in one round. */
export type Round<Result, Name extends string = string> = Readonly<Partial<Record<Name, Result>>>;

/** Ours and theirs of the same rounds, where both are known. */
export function pairsOf<Result>(
  rounds: readonly Round<Result>[],
  who: string,
  value: (result: Result) => number | null,
): Pair[] {
  return rounds.flatMap(({ longshore, [who]: other }) => {
    const [ours, theirs] = [value(longshore!), value(other!)];
    return ours === null || theirs === null ? [] : [{ ours, theirs }];
  });
}

const ends = {
  'CPU of the client': (cpu: Cpu) => cpu.clientCpuUs,
  'CPU of the server': (cpu: Cpu) => cpu.serverCpuUs,
  CPU: (cpu: Cpu) => (cpu.serverCpuUs === null ? null : cpu.clientCpuUs + cpu.serverCpuUs),
} as const;

/**
 * Where the machine is shared, these are steadier than the rates, and say which end to look at.
 * @param most what both ends together may take at most, as a ratio, by rival; `null` = report only
 */
export function cpuRows(
  name: string,
  rounds: readonly Round<Cpu>[],
  rivals: Readonly<Record<string, number | null>>,
): Row[] {
  return Object.entries(ends).flatMap(([end, value]) =>
    Object.entries(rivals).flatMap(([who, most]) => {
      const pairs = pairsOf(rounds, who, value);
      const target = end === 'CPU' && most !== null ? { most } : null;
      return pairs.length === 0 ? [] : [ratioRow(`${name}: ${end}`, 'µs/job', pairs, target, who)];
    }),
  );
}

/** What the server counted per job, if it counts anything. */
export function countedRows(
  name: string,
  rounds: readonly Round<Drained>[],
  rivals: readonly string[],
): Row[] {
  return Object.keys(rounds[0]!.longshore!.counted).flatMap((counter) =>
    rivals.map((who) => {
      const pairs = pairsOf(rounds, who, ({ counted }) => counted[counter]!);
      return ratioRow(`${name}: ${counter}`, 'a job', pairs, null, who);
    }),
  );
}
