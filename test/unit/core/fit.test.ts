import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { AttemptReport } from '../../../core/contract/outcome.ts';
import { fitted } from '../../../core/kit/records/fit.ts';
import { newRow, type RecordRow } from '../../../core/kit/records/row.ts';

const long = (what: string): string => what.repeat(1_000 / what.length);

function rowWith(count: number): RecordRow {
  const report = (attempt: number): AttemptReport => ({
    attempt,
    startedAt: attempt,
    endedAt: attempt,
    outcome: 'requeued',
    error: { code: 'HANDLER', message: 'no', stack: long('stack') },
    output: JSON.stringify(long('result')),
    worker: 'worker-7',
    log: [{ at: attempt, text: long('line') }],
  });
  const job = { id: 'a', queue: 'mail', job: 'send', tenantId: null, priority: 5, createdAt: 1, runAt: 1 };
  return {
    ...newRow({ ...job, body: long('body') }),
    attempts: Array.from({ length: count }, (_, i) => report(i + 1)),
  };
}

describe('a record that is too large for its table', () => {
  it('loses its log first, then stacks, then the payload, then outputs, then old attempts', () => {
    const whole = JSON.stringify(rowWith(4));
    const parts = ['line', 'stack', 'body', 'result'];
    const kept = (text: string) => parts.filter((part) => text.includes(long(part).slice(0, 500)));
    const seen = new Set<string>();
    for (let room = whole.length; room > 0; room -= 100) {
      const text = fitted(rowWith(4), ({ length }) => length <= room);
      const { attempts } = JSON.parse(text) as RecordRow;
      assert.equal(attempts.at(-1)?.attempt, attempts.length === 0 ? undefined : 4);
      seen.add(`${kept(text).join(' ')} ${attempts.length}`);
    }
    assert.deepEqual(
      [...seen],
      [
        'line stack body result 4',
        'stack body result 4',
        'body result 4',
        'result 4',
        'result 3',
        'result 2',
        ' 0',
      ],
    );
  });
});
