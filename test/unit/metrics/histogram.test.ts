import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addHistogram,
  newHistogram,
  observe,
  packHistogram,
  quantile,
  unpackHistogram,
} from '../../../core/features/metrics/histogram.ts';

const durations = fc.array(fc.integer({ min: 0, max: 86_400_000 }), { minLength: 1, maxLength: 300 });
const quantiles = fc.constantFrom(0.01, 0.5, 0.95, 0.99, 1);

const of = (all: readonly number[]) => {
  const histogram = newHistogram();
  for (const ms of all) observe(histogram, ms);
  return histogram;
};

describe('a histogram', () => {
  it('tells each quantile within 5 % of the value that has it', () => {
    fc.assert(
      fc.property(durations, quantiles, (all, q) => {
        const exact = all.toSorted((a, b) => a - b)[Math.max(1, Math.ceil(q * all.length)) - 1]!;
        const told = quantile(of(all), q)!;
        expect(Math.abs(told - exact)).toBeLessThanOrEqual(exact * 0.05);
      }),
    );
  });

  it('of two workers is that of all their attempts', () => {
    fc.assert(
      fc.property(durations, durations, (mine, theirs) => {
        const sum = of(mine);
        addHistogram(sum, of(theirs));
        const whole = of([...mine, ...theirs]);
        expect({ ...sum, buckets: new Map([...sum.buckets].sort()) }).toEqual({
          ...whole,
          buckets: new Map([...whole.buckets].sort()),
        });
      }),
    );
  });

  it('is stored and read without loss', () => {
    fc.assert(
      fc.property(durations, (all) => {
        const histogram = of(all);
        expect(unpackHistogram(JSON.parse(JSON.stringify(packHistogram(histogram))))).toEqual(histogram);
      }),
    );
  });

  it('without a value has no quantile', () => {
    expect(quantile(newHistogram(), 0.5)).toBeNull();
  });

  it('never tells more than its largest value', () => {
    expect(quantile(of([1001]), 0.99)).toBe(1001);
  });
});
