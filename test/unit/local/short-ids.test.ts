import { expect, it } from 'vitest';
import { shortIds } from '../../../local/cli/commands/select-jobs.ts';

const of = (ids: readonly string[]): string[] => ids.map(shortIds(ids));
const begins = '01a21486-80c6-79c1';

it('shows how ids begin, by as much as tells them apart', () => {
  expect(of([`${begins}-842d-26bc`])).toEqual([begins]);
  expect(of([`${begins}-842d-26bc`, `${begins}-842e-26bc`])).toEqual([`${begins}-842d`, `${begins}-842e`]);
});

it('shows those of a batch or a chain whole, and makes the others no longer by them', () => {
  const made = [`batch.${begins}-842d-26bc.2.1`, `batch-end.orders.onComplete.1`, `chain.${begins}-842d.3`];
  expect(of([...made, `${begins}-842d-26bc`])).toEqual([...made, begins]);
});
