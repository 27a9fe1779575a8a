import { describe, expect, it } from 'vitest';
import { failedIds } from '../../../local/simulate/lambda/poller.ts';

describe('the poller of these tests', () => {
  const messages = [{ MessageId: 'a' }, { MessageId: 'b' }];
  it.each([
    [null, []],
    [{}, []],
    [{ batchItemFailures: null }, []],
    [{ batchItemFailures: [] }, []],
    [{ batchItemFailures: [{ itemIdentifier: 'a' }] }, ['a']],
  ])('reads %o as AWS does', (answer, failed) => {
    expect(failedIds(answer, messages)).toEqual(new Set(failed));
  });

  it.each([
    ['text'],
    [{ batchItemFailures: 'a' }],
    [{ batchItemFailures: [{ itemIdentifier: '' }] }],
    [{ batchItemFailures: [{ itemIdentifier: null }] }],
    [{ batchItemFailures: [{ itemIdentifier: 'unknown' }] }],
    [{ batchItemFailures: [{ id: 'a' }] }],
    [{ batchItemFailures: [null] }],
  ])('fails the whole batch for %o', (answer) => {
    expect(failedIds(answer, messages)).toBe('all');
  });

  it('deletes everything where the mapping does not report failures', () => {
    expect(failedIds({ batchItemFailures: [{ itemIdentifier: 'a' }] }, messages, false)).toEqual(new Set());
  });
});
