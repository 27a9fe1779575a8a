import { expect, it } from 'vitest';
import { systemClock, within } from '../../../core/base/clock.ts';

it('work whose time is over already has until the next turn, without a warning of Node', async () => {
  const warnings: Error[] = [];
  const listener = (warning: Error) => warnings.push(warning);
  process.on('warning', listener);
  expect(await within(systemClock, -5, new Promise<string>(() => {}), () => 'late')).toBe('late');
  await new Promise(setImmediate);
  process.off('warning', listener);
  expect(warnings).toEqual([]);
});
