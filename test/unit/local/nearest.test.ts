import { expect, it } from 'vitest';
import { hint, nearest } from '../../../core/base/nearest.ts';

const names = ['invoice.mail', 'invoice.render', 'nightly-report', 'mail', 'exhausted', 'maxRetries'];

it.each([
  ['mial', 'mail'],
  ['invoce.mail', 'invoice.mail'],
  ['nigthly', 'nightly-report'],
  ['nightly', 'nightly-report'],
  ['reprot', 'nightly-report'],
  ['invoice.rend', 'invoice.render'],
  ['Exhuasted', 'exhausted'],
  ['retries', 'maxRetries'],
  ['x', null],
  ['webhook', null],
])('%s is probably meant to be %s', (given, name) => {
  expect(nearest(given, names)).toBe(name);
});

it('names those that are known where none is near, ten at most', () => {
  expect(hint('zzz', names)).toBe(` Known: ${names.join(', ')}.`);
  expect(
    hint(
      'zzz',
      Array.from({ length: 11 }, (_, i) => `name-${i}`),
    ),
  ).toMatch(/name-9, \.\.\.\.$/);
  expect(hint('zzz', [])).toBe('');
});
