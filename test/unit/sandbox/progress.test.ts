/** The worker's own bound: it does not count on isolates to be modest. */

import { expect, it } from 'vitest';
import { lastOnly } from '../../../core/sandbox/progress.ts';

it('writes progress once at a time, and of what came meanwhile only the last', async () => {
  const calls: { readonly n: number; readonly end: (answer: boolean) => void }[] = [];
  const report = lastOnly((n: number) => new Promise<boolean>((end) => calls.push({ n, end })));
  const first = report(0);
  await new Promise(setImmediate);
  const others = Array.from({ length: 1_000 }, (_, i) => report(i + 1));
  await new Promise(setImmediate);
  expect(calls.map(({ n }) => n)).toEqual([0]);
  calls[0]!.end(true);
  expect(await first).toBe(true);
  await new Promise(setImmediate);
  expect(calls.map(({ n }) => n)).toEqual([0, 1_000]);
  calls[1]!.end(false);
  expect(new Set(await Promise.all(others))).toEqual(new Set([false]));
});

it('goes on after a store that failed', async () => {
  const answers = [Promise.reject(new Error('down')), Promise.resolve(true)];
  const report = lastOnly((_: number) => answers.shift()!);
  await expect(report(1)).rejects.toThrow('down');
  expect(await report(2)).toBe(true);
});
