/** At the end of an invocation: flushed, but not for ever. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { flushing } from '../../../core/surfaces/otel/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { refusalText } from '../core/kit.ts';

afterEach(() => void vi.restoreAllMocks());
const warnings = () => vi.spyOn(process, 'emitWarning').mockImplementation(() => {});

describe('flushing()', () => {
  it('flushes when the handler has ended, and gives what it gave', async () => {
    const order: string[] = [];
    const handler = async (event: string, n: number) => {
      order.push(`handled ${event} ${n}`);
      return n + 1;
    };
    const flushed = flushing(handler, async () => void order.push('flushed'));
    expect(await flushed('a', 1)).toBe(2);
    expect(order).toEqual(['handled a 1', 'flushed']);
  });

  it('flushes also when the handler fails', async () => {
    let flushes = 0;
    const flushed = flushing(
      () => Promise.reject(new Error('down')),
      async () => ++flushes,
    );
    await expect(flushed()).rejects.toThrow('down');
    expect(flushes).toBe(1);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['rejects', () => Promise.reject(new Error('collector down'))],
    [
      'throws',
      () => {
        throw new Error('collector down');
      },
    ],
  ])('says once that flushing %s, and changes nothing', async (_, flush) => {
    const said = warnings();
    const flushed = flushing(async () => 'done', flush);
    expect([await flushed(), await flushed()]).toEqual(['done', 'done']);
    expect(said.mock.calls).toEqual([
      [expect.stringMatching(/not flushed .*: collector down$/), { code: 'LONGSHORE_TELEMETRY' }],
    ]);
  });

  it('leaves an exporter that hangs to itself', async () => {
    const said = warnings();
    const clock = createVirtualClock();
    const hangs = () => {
      setImmediate(() => clock.advance(500));
      return new Promise(() => {});
    };
    const flushed = flushing(async () => 'done', hangs, { withinMs: 500, testing: { clock } });
    expect(await flushed()).toBe('done');
    expect(said.mock.calls[0]![0]).toMatch(/no end within 500 ms$/);
  });

  it('refuses a wrong limit', async () => {
    const wrong = () =>
      flushing(
        async () => {},
        async () => {},
        { withinMs: 0 },
      );
    expect(await refusalText(wrong)).toMatch(/^CONFIG: .*withinMs of flushing\(\)/);
  });
});
