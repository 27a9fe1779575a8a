/** How long the record of a job is kept when the job says so. */

import assert from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { PermanentError } from '../../../core/base/errors.ts';
import type { Job } from '../../../core/kernel/app/job.ts';
import { job } from './kit.ts';
import { recordingBench } from './recording-kit.ts';

const day = 86_400_000;
const failing = () => {
  throw new PermanentError('no');
};

for (const ownRecords of [true, false]) {
  async function recordAfter(work: Job, ms: number): Promise<string | null> {
    const t = recordingBench({ jobs: [work], ownRecords });
    const { id } = await t.client.enqueue(work, {});
    await t.next();
    t.clock.advance(ms);
    await t.client.stores.records.purge();
    return (await t.client.status(id))?.status ?? null;
  }

  describe(`the retention of a job, in a record ${ownRecords ? 'of the queue' : 'beside the queue'}`, () => {
    it('is that of the store, where it says nothing', async () => {
      assert.equal(await recordAfter(job(), 6 * day), 'completed');
      assert.equal(await recordAfter(job(), 8 * day), null);
      assert.equal(await recordAfter(job({ handle: failing }), 89 * day), 'failed');
      assert.equal(await recordAfter(job({ handle: failing, retention: { completedMs: 0 } }), day), 'failed');
    });

    it('is longer or shorter for a completed one', async () => {
      assert.equal(await recordAfter(job({ retention: { completedMs: 365 * day } }), 364 * day), 'completed');
      assert.equal(await recordAfter(job({ retention: { completedMs: 365 * day } }), 366 * day), null);
      assert.equal(await recordAfter(job({ retention: { completedMs: 0 } }), 0), null);
    });

    it('is longer or shorter for a dead letter', async () => {
      const dead = (deadMs: number) => job({ handle: failing, retention: { deadMs } });
      assert.equal(await recordAfter(dead(365 * day), 364 * day), 'failed');
      assert.equal(await recordAfter(dead(day), 2 * day), null);
      assert.equal(await recordAfter(dead(0), 0), null);
    });
  });
}

describe('the retention of a job', () => {
  const wrong: [given: unknown, message: RegExp][] = [
    [7, /Job "mail" expects retention to be \{ completedMs, deadMs \}, or one of them, got 7/],
    [null, /got null/],
    [[], /expects retention to be/],
    [{ completedMs: -1 }, /completedMs of retention of job "mail" to be an integer of 0 or more, got -1/],
    [{ deadMs: 1.5 }, /deadMs of retention of job "mail" to be an integer/],
    [{ deadMs: Infinity }, /deadMs of retention/],
    [{ completedMs: 1e15 }, /retention.completedMs of job "mail" expects at most 31536000000000, got/],
    [{ days: 7 }, /Unknown option "days" of retention of job "mail", only completedMs, deadMs/],
  ];
  it.each(wrong)('refuses %j', (retention, message) => {
    expect(() => job({ name: 'mail', retention } as never)).toThrow(message);
  });
});
