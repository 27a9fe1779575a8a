import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, fitJson, keepEnds } from '../../../core/jobs/text.ts';

describe('keepEnds', () => {
  it('keeps what fits, and the two ends of the rest, however it is cut into chunks', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 33 }), sizes, (maxBytes, lengths) => {
        const all = Buffer.from(
          Array.from({ length: lengths.reduce((a, b) => a + b, 0) }, (_, i) => 97 + (i % 23)),
        );
        const ends = keepEnds(maxBytes);
        let at = 0;
        for (const length of lengths) {
          ends.add(all.subarray(at, at + length));
          at += length;
        }
        const half = Math.ceil(maxBytes / 2);
        const missing = all.length - maxBytes;
        const expected =
          missing <= 0
            ? all.toString()
            : `${all.subarray(0, half)}\n[... ${missing} bytes left out ...]\n${all.subarray(half + missing)}`;
        expect(ends.text()).toBe(expected);
      }),
      { seed: 5, numRuns: 2_000 },
    );
  });

  it('cuts between characters', () => {
    const ends = keepEnds(10);
    ends.add(Buffer.from('€'.repeat(100)));
    expect(ends.text()).toBe('€\n[... 290 bytes left out ...]\n€');
  });
});

describe('decode', () => {
  it('leaves out a character that is cut, and marks what is none', () => {
    expect(decode(Buffer.from('a€').subarray(0, 3))).toBe('a');
    expect(decode(Buffer.from([0x61, 0xff, 0x62]))).toBe('a\ufffdb');
    expect(decode(Buffer.from('\ufeffx'))).toBe('\ufeffx');
  });
});

describe('fitJson', () => {
  it('cuts until the text fits as JSON', () => {
    const unit = fc.constantFrom('a', '"', '\n', '\0', '€', '😀', '\ud800');
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 200 }), fc.integer({ min: 2, max: 300 }), (units, maxChars) => {
        const text = units.join('');
        const fitting = fitJson(text, maxChars);
        expect(text.startsWith(fitting)).toBe(true);
        expect(JSON.stringify(fitting).length).toBeLessThanOrEqual(maxChars);
        if (JSON.stringify(text).length <= maxChars) expect(fitting).toBe(text);
      }),
      { seed: 6 },
    );
  });
});
