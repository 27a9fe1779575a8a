import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PermanentError } from '../../../core/base/errors.ts';
import {
  delays,
  exponential,
  type Failure,
  fixed,
  noRetry,
  perError,
  type RetryPolicy,
} from '../../../core/kernel/app/retry.ts';
import { refusalText } from './kit.ts';

const failure = (attempt: number, more: Partial<Failure> = {}): Failure => ({
  attempt,
  error: new Error('x'),
  random: 0.5,
  ...more,
});
const first = (policy: RetryPolicy, count: number): (number | null)[] =>
  Array.from({ length: count }, (_, i) => policy(failure(i + 1)));

describe('exponential', () => {
  it('doubles from 30 s to an hour by default', () => {
    const seconds = first(exponential(), 9).map((delayMs) => delayMs! / 1000);
    expect(seconds).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
  });

  it('spreads by ± 10 % by default', () => {
    expect(exponential()(failure(1, { random: 0 }))).toBe(27_000);
    expect(exponential()(failure(1, { random: 1 - Number.EPSILON }))).toBe(33_000);
  });

  it('takes its own base, factor and limit', () => {
    const policy = exponential({ baseMs: 100, factor: 3, maxMs: 1000, jitter: 0 });
    expect(first(policy, 4)).toEqual([100, 300, 900, 1000]);
  });

  const options = fc
    .record({
      baseMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
      factor: fc.double({ min: 1, max: 1e6, noNaN: true }),
      more: fc.double({ min: 0, max: 1e12, noNaN: true }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ more, ...rest }) => ({ ...rest, maxMs: rest.baseMs + more }));
  const attempts = fc.integer({ min: 1, max: 5000 });
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  it('is a whole number from 0 to maxMs, whatever the jitter, the chance and the attempt', () => {
    fc.assert(
      fc.property(options, attempts, random, (chosen, attempt, chance) => {
        const delayMs = exponential(chosen)(failure(attempt, { random: chance }));
        expect(delayMs).toSatisfy(Number.isInteger);
        expect(delayMs).toBeGreaterThanOrEqual(0);
        expect(delayMs).toBeLessThanOrEqual(chosen.maxMs);
      }),
      { numRuns: 2000 },
    );
  });

  it('stays within the jitter of the delay without it', () => {
    fc.assert(
      fc.property(options, attempts, random, (chosen, attempt, chance) => {
        const spread = exponential(chosen)(failure(attempt, { random: chance }))!;
        const centre = exponential({ ...chosen, jitter: 0 })(failure(attempt))!;
        expect(Math.abs(spread - centre)).toBeLessThanOrEqual(centre * chosen.jitter + 2);
      }),
    );
  });

  it('never gets shorter from one attempt to the next without jitter', () => {
    fc.assert(
      fc.property(options, attempts, (chosen, attempt) => {
        const policy = exponential({ ...chosen, jitter: 0 });
        expect(policy(failure(attempt + 1))!).toBeGreaterThanOrEqual(policy(failure(attempt))!);
      }),
    );
  });

  it.each([
    [{ baseMs: -1 }, 'baseMs to be 0 or more, got -1'],
    [{ baseMs: Number.NaN }, 'baseMs to be 0 or more, got NaN'],
    [{ factor: 0.5 }, 'factor to be 1 or more, got 0.5'],
    [{ factor: Number.POSITIVE_INFINITY }, 'factor to be 1 or more, got Infinity'],
    [{ baseMs: 1000, maxMs: 999 }, 'maxMs to be 1000 or more, got 999'],
    [{ maxMs: Number.POSITIVE_INFINITY }, 'maxMs to be 30000 or more, got Infinity'],
  ])('refuses %o', async (wrong, expected) => {
    expect(await refusalText(() => exponential(wrong))).toBe(`CONFIG: A retry policy expects ${expected}.`);
  });

  it.each([-0.1, 1.1, Number.NaN])('refuses a jitter of %d', async (jitter) => {
    expect(await refusalText(() => exponential({ jitter }))).toBe(
      `CONFIG: exponential() expects jitter from 0 to 1, got ${jitter}.`,
    );
  });
});

describe('the other policies', () => {
  it('delays: the nth retry waits the nth, the last serves all further ones', () => {
    expect(first(delays([100, 0, 300]), 5)).toEqual([100, 0, 300, 300, 300]);
  });

  it('fixed: always the same', () => {
    expect(first(fixed(250), 3)).toEqual([250, 250, 250]);
  });

  it('noRetry: the first failure is final', () => {
    expect(first(noRetry, 2)).toEqual([null, null]);
  });

  it('perError: the first class that matches decides, the rest goes to the other policy', () => {
    class Busy extends RangeError {}
    const policy = perError(
      [
        [Busy, fixed(1)],
        [RangeError, fixed(2)],
        [PermanentError, noRetry],
      ],
      fixed(3),
    );
    const answers = [new Busy(), new RangeError(), new PermanentError(), new Error('x'), 'text', null];
    expect(answers.map((error) => policy(failure(1, { error })))).toEqual([1, 2, null, 3, 3, 3]);
  });

  it.each([
    [
      'delays() without a delay',
      () => delays([]),
      'delays() expects at least one delay in ms, got an empty list.',
    ],
    [
      'delays() with one below 0',
      () => delays([1, -2]),
      'A retry policy expects every delay to be 0 or more, got -2.',
    ],
    [
      'delays() with one that is no number',
      () => delays([Number.NaN]),
      'A retry policy expects every delay to be 0 or more, got NaN.',
    ],
    ['fixed() below 0', () => fixed(-1), 'A retry policy expects delayMs to be 0 or more, got -1.'],
  ])('refuse %s', async (_, make, message) => {
    expect(await refusalText(make)).toBe(`CONFIG: ${message}`);
  });
});
