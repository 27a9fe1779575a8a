import { describe, expect, it } from 'vitest';
import { failuresOf } from '../crash-points/points.ts';
import { scenarios } from '../crash-points/scenarios/index.ts';
import type { Kind } from '../crash-points/types.ts';

/** @param every 1 = each point, 10 = one in ten */
export function describeCrashPoints(kind: Kind, every: number): void {
  describe(`a process that fails at any of its calls, on ${kind}`, () => {
    for (const scenario of scenarios)
      it(scenario.name, async () => {
        const { failures } = await failuresOf(scenario, kind, every);
        expect(
          failures.map(
            ({ call, fault, complaints, command }) =>
              `${call} ${fault.kind}: ${complaints.join('; ')}\n${command}`,
          ),
        ).toEqual([]);
      });
  });
}
