/** How the page reads what people type, and shows what jobs hold. */

import { describe, expect, it } from 'vitest';
import { ago, duration, isolatedIn, visible, visibleLine } from '../../../infra/dashboard/data/format.ts';
import { readMoment, readSearch, writeSearch } from '../../../infra/dashboard/data/search.ts';

const now = Date.UTC(2026, 10, 23, 10);
const fields = [
  { word: 'status', member: 'status', label: 'Status', choices: ['failed', 'completed'] },
  { word: 'tenant', member: 'tenantId', label: 'Tenant' },
  { word: 'error', member: 'error', label: 'Error' },
  { word: 'from', member: 'createdFrom', label: 'From', isMoment: true },
] as const;
const read = (text: string) => readSearch(text, fields, 'idPrefix', now);

describe('a search', () => {
  it('is read as a filter: words with a colon, and the beginning of an id', () => {
    expect(read('status:failed tenant:acme 0193a').filter).toEqual({
      status: 'failed',
      tenantId: 'acme',
      idPrefix: '0193a',
    });
  });

  it('keeps spaces, quotes and colons of a quoted text', () => {
    expect(read(String.raw`error:"say \"a: b\""`).filter).toEqual({ error: 'say "a: b"' });
  });

  it('is written so that it is read as the same', () => {
    for (const error of ['timed out', 'a "b" \\c', 'x:y', 'plain', '\u202eabc']) {
      const filter = { status: 'failed', error, createdFrom: String(now), idPrefix: '01' };
      expect(read(writeSearch(filter, fields, 'idPrefix'))).toEqual({ filter, problems: [] });
    }
  });

  it('is written once where a word alone is for a member with a name', () => {
    expect(writeSearch({ tenantId: 'acme' }, fields, 'tenantId')).toBe('tenant:acme');
  });

  it('takes ages and dates', () => {
    expect(readMoment('2h', now)).toBe(now - 7_200_000);
    expect(readMoment('2026-11-23T10:00Z', now)).toBe(now);
    expect(readMoment('soon', now)).toBeNull();
  });

  it('says what it does not understand, and leaves it out', () => {
    expect(read('colour:red').filter).toEqual({});
    expect(read('colour:red').problems).toEqual([
      '"colour:" is no filter. There are status: tenant: error: from:',
    ]);
    expect(read('status:dead').problems).toEqual(['status: is one of failed, completed.']);
    expect(read('from:soon').problems).toHaveLength(1);
  });
});

describe('a text of a job', () => {
  it('shows what cannot be seen and what turns the text around it', () => {
    expect(visibleLine('a\u0000b\u202ec\u200b\n\ud800')).toBe('a⟨00⟩b⟨202e⟩c⟨200b⟩⟨0a⟩\ufffd');
    expect(visible('a\n\tb\u001b[31m')).toBe('a\n\tb⟨1b⟩[31m');
  });

  it('keeps the letters of every language', () => {
    expect(visibleLine('مرحبا 你好 👩‍🚀 naïve')).toBe('مرحبا 你好 👩‍🚀 naïve');
  });
});

describe('lengths of time', () => {
  it('read as people say them', () => {
    expect([0, 999, 1_400, 59_940, 200_000, 7_500_000, 90_000_000].map(duration)).toEqual([
      '0 ms',
      '999 ms',
      '1.4 s',
      '60 s',
      '3 m 20 s',
      '2 h 5 m',
      '1 d 1 h',
    ]);
    expect([now - 500, now - 5_000, now - 200_000, now + 90_000].map((at) => ago(at, now))).toEqual([
      'now',
      '5 s ago',
      '3 m ago',
      'in 1 m',
    ]);
  });
});

describe('a chart', () => {
  it('draws as points the values that no line goes through', () => {
    expect(isolatedIn([1, null, 2, 3, null, 4])).toEqual([0, 5]);
    expect(isolatedIn([null, 0, null])).toEqual([1]);
    expect(isolatedIn([7])).toEqual([0]);
    expect(isolatedIn([1, 2])).toEqual([]);
  });
});
