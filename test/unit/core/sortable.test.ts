import { describe, expect, it } from 'vitest';
import { sortable, sortableRange } from '../../../core/kit/records/sortable.ts';

const characters = Array.from({ length: 0x180 }, (_, n) => String.fromCharCode(n));
const names = [
  ...characters,
  ...characters.map((one) => `a${one}`),
  ...characters.map((one) => `${one}-b`),
  ...['', 'job:invoice.send:rate', 'job:invoice.send:rate:c-7', '世界', '\u{1f600}', '\uffff', '\ud800'],
];

describe('a name as the key of a table', () => {
  it('sorts as the name does, and differs from every other', () => {
    const sorted = [...new Set(names)].sort();
    expect(sorted.map(sortable)).toEqual([...new Set(names.map(sortable))].sort());
  });

  it('has only what every table takes', () => {
    for (const name of names) expect(sortable(name)).toMatch(/^[0-9A-Za-z:_@~-]*$/);
  });

  it('is in the range of each of its beginnings, and of no other', () => {
    for (const name of names)
      for (const prefix of ['', 'a', 'a-', 'job:', 'a~', '世', name]) {
        const { from, to } = sortableRange(prefix);
        const text = sortable(name);
        expect(text >= from && text < to, JSON.stringify([name, prefix])).toBe(name.startsWith(prefix));
      }
  });

  it('is never too long: what is cut off still tells two names apart', () => {
    const long = ['世'.repeat(500), `${'世'.repeat(499)}界`, 'x'.repeat(2_000), `${'-'.repeat(400)}a`];
    for (const name of long) {
      const text = sortable(name);
      expect(text.length).toBeLessThanOrEqual(490);
      for (const prefix of [name.slice(0, 20), name]) {
        const { from, to } = sortableRange(prefix);
        expect(text >= from && text < to).toBe(true);
      }
    }
    expect(new Set(long.map(sortable)).size).toBe(long.length);
  });
});
