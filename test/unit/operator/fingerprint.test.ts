/** What counts as the same error. */

import { describe, expect, it } from 'vitest';
import { fingerprintOf, withoutValues } from '../../../core/operations/select.ts';

const of = (error: string) => fingerprintOf({ job: 'mail', reason: 'permanent', error });

describe('fingerprints', () => {
  it.each([
    ['user 17 not found', 'user 4 not found'],
    [
      'HANDLER: no row 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
      'HANDLER: no row 0199ffff-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
    ],
    ['bad digest deadbeef01', 'bad digest 0123456789abcdef'],
    ['at 0x7fff', 'at 0x12'],
    [`can't read 'a b'`, `can't read 'c'`],
    ['no file /var/lib/x/1.txt', 'no file /opt/other/y'],
    ['no file C:\\tmp\\x', 'no file D:\\y\\z\\w'],
    ['GET https://a.example/x/1 failed', 'GET https://b.example/y?z=2 failed'],
    ['took 1,204.5 ms', 'took 7 ms'],
    ['a\n b', 'a b'],
    ['no key AKIA1234567890ABCDEFGH', 'no key ZZ99887766554433221100'],
  ])('are the same for %s and %s', (one, other) => {
    expect(withoutValues(one)).toBe(withoutValues(other));
    expect(of(one)).toBe(of(other));
  });

  it('differ for other errors, other jobs and other reasons', () => {
    expect(of('timed out')).not.toBe(of('timed in'));
    const letter = { job: 'mail', reason: 'permanent', error: 'x' } as const;
    const prints = [letter, { ...letter, job: 'other' }, { ...letter, reason: 'exhausted' as const }].map(
      fingerprintOf,
    );
    expect(new Set(prints).size).toBe(3);
    expect(prints.every((one) => /^[0-9a-f]{12}$/.test(one))).toBe(true);
  });

  it.each(['"', "'", '`', '/a', 'a', '0', '1,', 'deadbeef', '\\', 'http:/', ' '])(
    'of a million times %s take no longer than of a short text',
    (piece) => {
      expect(of(piece.repeat(1_000_000))).toBe(of(piece.repeat(1_000_000).slice(0, 1_000)));
    },
  );
});
