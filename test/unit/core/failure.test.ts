/** What is kept of an error: code, message, and a bounded stack with its causes. */

import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import {
  LongshoreError,
  PermanentError,
  RateLimitedError,
  RetryAfterError,
  SnoozeError,
} from '../../../core/base/errors.ts';
import { reportError, stackText } from '../../../core/base/failure.ts';
import { packError, unpackError } from '../../../core/base/thrown.ts';
import { abortReason } from '../../../core/kernel/attempt/run.ts';
import { bench, job } from './kit.ts';

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

describe('the text of what was thrown', () => {
  const textOf = (thrown: unknown) => reportError(thrown).message;

  it('is the message of a plain object, or its members without what looks like a secret', () => {
    expect(textOf({ code: 'card_declined', message: 'Your card was declined.' })).toBe(
      'Your card was declined.',
    );
    expect(textOf({ status: 503, apiKey: 'abc' })).toBe('{"status":503,"apiKey":"[masked]"}');
    expect(textOf(new Date(0))).toMatch(/1970/);
    expect(textOf(null)).toBe('null');
    const round: Record<string, unknown> = {};
    round.self = round;
    expect(textOf(round)).toMatch(/deep/);
  });

  it('tells of all errors of an aggregate', async () => {
    const thrown = await Promise.any(
      ['smtp', 'api'].map(async (name) => Promise.reject(new Error(`${name} down`))),
    ).catch((error) => error);
    expect(reportError(thrown)).toMatchObject({
      message: 'All promises were rejected: smtp down; api down',
      stack: expect.stringMatching(/caused by: Error: smtp down.*caused by: Error: api down/s),
    });
    expect(reportError(unpackError(packError(thrown))).message).toBe(
      'All promises were rejected: smtp down; api down',
    );
  });

  it('is that of an error of another realm', () => {
    const { message, stack } = reportError(runInNewContext('new TypeError("from afar")'));
    expect([message, stack]).toEqual(['from afar', expect.stringMatching(/^TypeError: from afar/)]);
  });
});

describe('errors of another copy of the package', () => {
  const again = '../../../core/base/errors.ts?again';
  const copy = (): Promise<typeof import('../../../core/base/errors.ts')> => import(again);

  it('are known as what they are', async () => {
    const other = await copy();
    expect(other.PermanentError).not.toBe(PermanentError);
    expect(new other.PermanentError('no')).toBeInstanceOf(PermanentError);
    const limited = new other.RateLimitedError(5);
    for (const Class of [RateLimitedError, SnoozeError, RetryAfterError])
      expect(limited).toBeInstanceOf(Class);
    expect(new other.RetryAfterError(5)).not.toBeInstanceOf(SnoozeError);
    expect(reportError(new other.LongshoreError('EXPIRED', 'late'))).toMatchObject({ code: 'EXPIRED' });
  });

  it('do not make a class of a user one of ours, nor all of ours one of the user', () => {
    class CardDeclined extends PermanentError {}
    expect(new PermanentError('no')).not.toBeInstanceOf(CardDeclined);
    expect(new CardDeclined('no')).toBeInstanceOf(PermanentError);
    expect(new CardDeclined('no')).toBeInstanceOf(CardDeclined);
    for (const other of [null, undefined, 'text', {}, new Error('no')])
      expect(other).not.toBeInstanceOf(PermanentError);
  });

  it('decide what becomes of a job', async () => {
    const other = await copy();
    for (const [thrown, expected] of [
      [new other.PermanentError('no'), { outcome: 'dead-lettered', reason: 'permanent' }],
      [new other.SnoozeError(1_000), { outcome: 'requeued', counted: false, delayMs: 1_000 }],
      [new other.RetryAfterError(2_000), { outcome: 'requeued', counted: true, delayMs: 2_000 }],
    ] as const) {
      const one = job({ handle: () => Promise.reject(thrown) });
      expect(await bench({ jobs: [one] }).once(one)).toMatchObject(expected);
    }
  });
});
