/** Rows out of rounds in which several contenders did the same. */

import { type Pair, type Row, ratioRow } from './bench.ts';
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

/** Report only: where the machine is shared, these are steadier than the rates, and say which end to look at. */
export function cpuRows(name: string, rounds: readonly Round<Cpu>[], rivals: readonly string[]): Row[] {
  const ends = { client: 'clientCpuUs', server: 'serverCpuUs' } as const;
  return Object.entries(ends).flatMap(([end, field]) =>
    rivals.flatMap((who) => {
      const pairs = pairsOf(rounds, who, (cpu) => cpu[field]);
      return pairs.length === 0 ? [] : [ratioRow(`${name}: CPU of the ${end}`, 'µs/job', pairs, null, who)];
    }),
  );
}
