import { describe, expect, it } from 'vitest';
import { memory } from '../../../local/backends/memory/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { load } from '../../bench/kit/load.ts';

describe('two seconds of requests', () => {
  it.each([
    ['memory', () => memory()],
    ['sqlite', () => sqlite(':memory:')],
  ])('on %s lose nothing: what was accepted is stored and run, once', async (_, open) => {
    const result = await load({ backend: open(), perSecond: 500, seconds: 2, connections: 16 });
    expect(result).toMatchObject({
      asked: 1_000,
      accepted: 1_000,
      refused: {},
      stored: 1_000,
      run: 1_000,
      runTwice: 0,
    });
  });
});
