import { describe, expect, it } from 'vitest';
import { flagsOf } from '../../../core/features/metrics/read.ts';
import {
  add,
  type Counted,
  count,
  countMemory,
  newTally,
  packTally,
  type Tally,
  unpackTally,
} from '../../../core/features/metrics/tally.ts';
import { ends } from '../../../core/kernel/app/metric-report.ts';

const acked: Counted = {
  job: 'mail',
  outcome: 'acked',
  settled: true,
  counted: true,
  reason: null,
  durationMs: 100,
  waitMs: 5,
  memoryBytes: null,
};
const failed: Counted = { ...acked, outcome: 'requeued', waitMs: null };

const of = (...results: Counted[]): Tally => {
  const tally = newTally();
  for (const [i, result] of results.entries()) count(tally, result, 1000 + i);
  return tally;
};

describe('a tally', () => {
  it.each<[(typeof ends)[number], Counted]>([
    ['done', acked],
    ['skipped', { ...acked, outcome: 'skipped-idempotent' }],
    ['retried', failed],
    ['released', { ...failed, counted: false }],
    ['dead', { ...acked, outcome: 'dead-lettered', reason: 'exhausted' }],
    ['dead', { ...acked, outcome: 'rejected', reason: 'expired' }],
    ['cancelled', { ...acked, outcome: 'rejected', reason: 'cancelled' }],
    ['lost', { ...acked, settled: false }],
  ])('counts an end as %s', (end, result) => {
    const tally = of(result);
    for (const other of ends) expect(tally[other], other).toBe(other === end ? 1 : 0);
  });

  it('times only attempts that ran, and waits only before the first one', () => {
    const released: Counted = { ...acked, outcome: 'requeued', counted: false };
    const refused: Counted = { ...acked, outcome: 'rejected', reason: 'rejected', waitMs: null };
    const tally = of(acked, failed, released, refused);
    expect(tally.runMs.count).toBe(2);
    expect(tally.waitMs.count).toBe(1);
  });

  it('is stored and read without loss', () => {
    const tally = of(acked, failed, { ...acked, durationMs: 0.25 });
    countMemory(tally, 4096);
    countMemory(tally, -4096); // what a job gave back is not its own
    expect(unpackTally(packTally(tally))).toEqual(tally);
    expect(tally.memory).toEqual({ count: 2, sum: 4096, max: 4096 });
  });

  it('adds up', () => {
    const sum = of(acked);
    add(sum, of(failed, acked));
    expect(sum).toEqual({ ...of(acked, failed, acked), lastAt: 1001 });
  });

  it.each(['', '{', '[]', 'null', '{"v":2,"ends":[1]}', '{"v":1}'])(
    'leaves a text that it cannot read: %s',
    (body) => {
      expect(unpackTally(body)).toBeNull();
    },
  );
});

describe('the own past of a job', () => {
  const times = (n: number, result: Counted) => Array.from({ length: n }, () => result);
  const past = [of(...times(100, acked))];

  it('flags what is slower, with the numbers', () => {
    const [flag, ...others] = flagsOf(of(...times(30, { ...acked, durationMs: 400 })), past, {});
    expect(others).toEqual([]);
    expect(flag).toMatchObject({
      kind: 'slower',
      past: expect.closeTo(100, -1),
      now: expect.closeTo(400, -2),
    });
  });

  it('flags what fails more, with the numbers', () => {
    const now = of(...times(27, acked), ...times(3, failed));
    expect(flagsOf(now, past, {})).toEqual([{ kind: 'failing', now: 0.1, past: 0 }]);
  });

  it('goes on flagging what is worse on a few of its days, however much ran on them', () => {
    const worse = [...times(500, { ...acked, durationMs: 900 }), ...times(500, failed)];
    const days = [...times(6, acked).map((one) => of(...times(50, one))), of(...worse), of(...worse)];
    const kinds = flagsOf(of(...worse), days, {}).map(({ kind }) => kind);
    expect(kinds).toEqual(['slower', 'failing']);
  });

  it('takes thresholds, and refuses ones that make no sense', () => {
    const now = of(...times(27, acked), ...times(3, { ...failed, durationMs: 170 }));
    expect(flagsOf(now, past, { failingBy: 0.2, slowerTimes: 2 })).toEqual([]);
    expect(() => flagsOf(now, past, { slowerTimes: 0.5 })).toThrow(
      /flag\.slowerTimes to be a number of 1 or more/,
    );
    expect(() => flagsOf(now, past, { failingBy: Number.NaN })).toThrow(/flag\.failingBy/);
  });

  it('says nothing of a job with few attempts, or without a past', () => {
    const slow = { ...acked, durationMs: 9000 };
    expect(flagsOf(of(...times(19, slow)), past, {})).toEqual([]);
    expect(flagsOf(of(...times(30, slow)), [], {})).toEqual([]);
    expect(flagsOf(of(...times(30, slow)), [of(acked)], {})).toEqual([]);
  });

  it('does not call a job slow for what the clock cannot tell', () => {
    const quick = [of(...times(100, { ...acked, durationMs: 0 }))];
    expect(flagsOf(of(...times(100, { ...acked, durationMs: 1 })), quick, {})).toEqual([]);
  });
});
