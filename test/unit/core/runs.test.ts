import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Run } from '../../../core/kernel/attempt/run.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { RunList } from '../../../core/kernel/worker/run-list.ts';

const make = (): Run =>
  createRun({ queue: 'default', body: '', attempt: 1, token: '', expiresAt: 0, interrupted: false });

describe('the runs of a worker', () => {
  it('are what a set would hold, whatever is added and deleted', () => {
    const steps = fc.array(fc.tuple(fc.constantFrom('add', 'delete', 'move'), fc.nat(7)), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (sequence) => {
        const all = Array.from({ length: 8 }, make);
        const [runs, others] = [new RunList(), new RunList()];
        const [expected, rest] = [new Set<Run>(), new Set<Run>()];
        for (const [step, n] of sequence) {
          const run = all[n]!;
          if (step === 'add' && !expected.has(run) && !rest.has(run)) {
            runs.add(run);
            expected.add(run);
          } else if (step === 'delete') {
            runs.delete(run);
            expected.delete(run);
          } else if (step === 'move' && expected.has(run)) {
            runs.delete(run);
            others.add(run);
            expected.delete(run);
            rest.add(run);
          }
          expect(new Set(runs)).toEqual(expected);
          expect([runs.size, others.size]).toEqual([expected.size, rest.size]);
          expect(all.map((one) => [runs.has(one), others.has(one)])).toEqual(
            all.map((one) => [expected.has(one), rest.has(one)]),
          );
        }
      }),
    );
  });

  it('are shown as they were, while some of them end', () => {
    const runs = new RunList();
    const three = [make(), make(), make()];
    for (const run of three) runs.add(run);
    const seen: Run[] = [];
    for (const run of runs) {
      seen.push(run);
      for (const other of three) runs.delete(other);
    }
    expect(seen).toEqual(three);
    expect(runs.size).toBe(0);
  });
});
