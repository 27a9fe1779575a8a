import { describe, expect, it } from 'vitest';
import { memory } from '../../../local/backends/memory/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { load } from '../../bench/kit/load.ts';

describe('a thousand requests, as fast as sixteen connections take them,', () => {
  it.each([
    ['memory', () => memory()],
    ['sqlite', () => sqlite(':memory:')],
  ])('on %s lose nothing: what was accepted is stored and run, once', async (_, open) => {
    const result = await load({ backend: open(), requests: 1_000, perSecond: Infinity, connections: 16 });
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
