import { describe, expect, inject, it } from 'vitest';
import { failuresOf } from '../crash-points/points.ts';
import { scenarios } from '../crash-points/scenarios/index.ts';

const isQuick = inject('sequences') < 1_000;
/** `npm test` has one point in ten on memory, `npm run test:all` has them all. */
const every = isQuick ? 10 : 1;

for (const kind of isQuick ? (['memory'] as const) : (['memory', 'sqlite'] as const))
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

describe('the checker', () => {
  it('sees that batches are not looked at', async () => {
    const scenario = scenarios.find(({ name }) => name === 'a batch that calls others at its end')!;
    const { failures } = await failuresOf(scenario, 'memory', 1, { withoutBatchLooks: true });
    expect(failures.flatMap(({ complaints }) => complaints).join('\n')).toContain('lost: complete');
  });
});
