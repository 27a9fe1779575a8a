import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../../core/jobs/retry-after.ts';

const now = Date.UTC(2026, 10, 6, 8, 49, 37); // a Friday
const hour = 3_600_000;

describe('Retry-After', () => {
  it.each([
    ['seconds', '120', 120_000],
    ['one second', '1', 1_000],
    ['spaces around', '  30 ', 30_000],
    ['zero waits a second all the same', '0', 1_000],
    ['leading zeros', '007', 7_000],
    ['the cap', '3600', hour],
    ['more than the cap', '3601', hour],
    ['a number beyond all numbers', '9'.repeat(400), hour],
    ['the usual date', 'Fri, 06 Nov 2026 08:50:37 GMT', 60_000],
    ['the date of RFC 850', 'Friday, 06-Nov-26 08:50:37 GMT', 60_000],
    ['the date of asctime', 'Fri Nov  6 08:50:37 2026', 60_000],
    ['a date that has passed', 'Fri, 06 Nov 2026 08:49:36 GMT', 1_000],
    ['a date long past', 'Sun, 06 Nov 1994 08:49:37 GMT', 1_000],
    ['a date beyond the cap', 'Sat, 07 Nov 2026 08:49:37 GMT', hour],
  ])('%s', (_, header, expected) => {
    expect(retryAfterMs(header, now, hour)).toBe(expected);
  });

  it.each([
    undefined,
    '',
    ' ',
    '-1',
    '+5',
    '1.5',
    '1e3',
    '0x10',
    '10s',
    '10, 20',
    'soon',
    'Infinity',
    'NaN',
    '2026-11-06T08:50:37Z',
    'Fri, 06 Nov 2026 08:50:37',
    'Fri, 06 Nov 2026 08:50:37 +0100',
    'Fri, 6 Nov 2026 08:50:37 GMT',
    'Fri, 99 Nov 2026 08:50:37 GMT',
    'Fri, 06 Nov 2026 99:99:99 GMT',
    'Fre, 06 Nov 2026 08:50:37 GMT',
  ])('%j is none', (header) => {
    expect(retryAfterMs(header, now, hour)).toBeNull();
  });
});
