/** What is kept of an error: code, message, and a bounded stack with its causes. */

import { describe, expect, it } from 'vitest';
import { abortReason } from '../../../core/attempt/run.ts';
import { LongshoreError } from '../../../core/base/errors.ts';
import { reportError, stackText } from '../../../core/base/failure.ts';

describe('the stack that is kept', () => {
  it('has the frames of the error and of each cause', () => {
    const cause = new TypeError('inner', { cause: new Error('innermost') });
    const outer = new Error('outer', { cause });
    const text = stackText(outer)!;
    expect(text).toMatch(
      /^Error: outer\n {4}at .*failure\.test\.ts.*\ncaused by: TypeError: inner\n {4}at .*\ncaused by: Error: innermost\n {4}at /s,
    );
    expect(reportError(outer).stack).toBe(text);
  });

  it('keeps its frames when the message is long', () => {
    const { message, stack } = reportError(new Error('x'.repeat(50_000)));
    expect(message).toHaveLength(2_000);
    expect(stack!.length).toBeLessThanOrEqual(4_000);
    expect(stack).toMatch(/x…\n {4}at .*failure\.test\.ts/);
  });

  it('ends where causes go round, and at 4000 characters', () => {
    const round: { cause?: unknown } & Error = new Error('round');
    round.cause = round;
    expect(stackText(round)!.match(/caused by/g)).toHaveLength(5);
    const deep = new Error('deep');
    deep.stack = `Error: deep\n${'    at f (file.ts:1:1)\n'.repeat(10_000)}`;
    expect(stackText(deep)!.split('\n')).toHaveLength(21);
  });

  it('is that of a LongshoreError too, where a handler may have caused it', () => {
    const thrown = new LongshoreError('OPTION', 'Expected a queue.', { cause: new Error('why') });
    expect(reportError(thrown)).toMatchObject({
      code: 'OPTION',
      stack: expect.stringMatching(/failure\.test\.ts.*caused by: Error: why/s),
    });
    expect(reportError(abortReason('timeout'))).toEqual({
      code: 'TIMEOUT',
      message: 'The attempt ran longer than the timeoutMs of its job.',
    });
  });

  it('is nothing where an error will not say', () => {
    const sly = new Error('sly');
    Object.defineProperty(sly, 'stack', {
      get() {
        throw new Error('no');
      },
    });
    expect(reportError(sly)).toEqual({ code: 'HANDLER', message: 'sly' });
    expect(stackText('a text')).toBeNull();
  });
});
