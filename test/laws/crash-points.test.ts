import { describe, expect, inject, it } from 'vitest';
import { failuresOf } from '../crash-points/points.ts';
import { scenarios } from '../crash-points/scenarios/index.ts';
import { describeCrashPoints } from './crash-points.ts';

/** `npm test` has one point in ten on memory, `npm run test:all` has them all, and those on SQLite in a file that runs beside this one. */
const every = inject('sequences') < 1_000 ? 10 : 1;

describeCrashPoints('memory', every);

describe('the checker', () => {
  it('sees that batches are not looked at', async () => {
    const scenario = scenarios.find(({ name }) => name === 'a batch that calls others at its end')!;
    const { failures } = await failuresOf(scenario, 'memory', 1, { withoutBatchLooks: true });
    expect(failures.flatMap(({ complaints }) => complaints).join('\n')).toContain('lost: complete');
  });
});
