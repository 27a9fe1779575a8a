/** Records of a queue that keeps none say what the records of a queue with its own would. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { PermanentError } from '../../../core/base/errors.ts';
import { defineJob, type Job } from '../../../core/kernel/app/job.ts';
import { fixed } from '../../../core/kernel/app/retry.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { job } from './kit.ts';
import { failingWriter, type RecordingBench, recordingBench, withWriter } from './recording-kit.ts';

const retry = fixed(5_000);
const failing = (error: () => Error, times = Infinity) => {
  let left = times;
  return () => {
    if (left-- > 0) throw Object.assign(error(), { stack: 'Error: as it was thrown' });
    return { sent: true };
  };
};

interface Story {
  readonly name: string;
  readonly job: () => Job;
  /** Everything that happens after the job was enqueued; answers the outcomes. */
  readonly happens: (t: RecordingBench) => Promise<(string | boolean)[]>;
}

/** Makes attempts until one is final, in virtual time. */
async function toTheEnd(t: RecordingBench): Promise<string[]> {
  const outcomes = [];
  for (;;) {
    const { outcome, delayMs } = await t.next();
    outcomes.push(outcome);
    if (delayMs === null) return outcomes;
    t.clock.advance(delayMs);
  }
}

async function vanish(t: RecordingBench): Promise<void> {
  const { token: owner, attempt } = (await t.take(1_000)).lease;
  const at = t.clock.now();
  // What a worker tells before its handler takes the process down.
  const record = await t.client.status('id-1');
  if (record) await t.stores.records.writer!.started(record, { owner, attempt, at });
  t.clock.advance(1_000);
}

const stories: readonly Story[] = [
  {
    name: 'succeeds',
    job: () => job({ handle: () => ({ pages: [1, 2] }) }),
    happens: toTheEnd,
  },
  {
    name: 'succeeds at the third attempt',
    job: () => job({ retry, handle: failing(() => new Error('busy'), 2) }),
    happens: toTheEnd,
  },
  {
    name: 'is exhausted',
    job: () => job({ retry, maxRetries: 1, handle: failing(() => new Error('busy')) }),
    happens: toTheEnd,
  },
  {
    name: 'fails for good',
    job: () => job({ handle: failing(() => new PermanentError('no such address')) }),
    happens: toTheEnd,
  },
  {
    name: 'waits for a retry',
    job: () => job({ retry, handle: failing(() => new Error('busy')) }),
    happens: async (t) => [(await t.next()).outcome],
  },
  {
    name: 'expires',
    job: () => job({ expiresInMs: 1_000 }),
    happens: async (t) => {
      t.clock.advance(1_000);
      return toTheEnd(t);
    },
  },
  {
    name: 'is interrupted once',
    job: () => job({ handle: () => 1 }),
    happens: async (t) => {
      await vanish(t);
      return toTheEnd(t);
    },
  },
  {
    name: 'takes every worker down',
    job: () => job({ maxRetries: 1 }),
    happens: async (t) => {
      await vanish(t);
      await vanish(t);
      return toTheEnd(t);
    },
  },
  {
    name: 'is released when its worker stops',
    job: () => job(),
    happens: async (t) => {
      const run = await t.take();
      run.interrupt('shutdown');
      return [(await t.run(run)).outcome];
    },
  },
  {
    name: 'is released because its key is busy',
    job: () => job({ idempotencyKey: () => 'k' }),
    happens: async (t) => {
      await t.client.stores.keys.claim('job:work:k', 'somebody', t.clock.now() + 60_000);
      return [(await t.next()).outcome];
    },
  },
  {
    name: 'is done already, says its key',
    job: () => job({ idempotencyKey: () => 'k' }),
    happens: async (t) => {
      const { keys } = t.client.stores;
      await keys.claim('job:work:k', 'somebody', t.clock.now() + 1_000);
      await keys.complete('job:work:k', 'somebody', { value: '"before"', keepUntil: t.clock.now() + 1e9 });
      return toTheEnd(t);
    },
  },
  {
    name: 'is cancelled while it runs',
    job: () => job(),
    happens: async (t) => {
      const run = await t.take();
      run.end('cancelled');
      return [(await t.run(run)).outcome];
    },
  },
  {
    name: 'reports progress',
    job: () => job({ handle: (_, ctx) => ctx.progress(1, 3, 'one').then((taken) => ({ taken })) }),
    happens: toTheEnd,
  },
];

describe('the record of a job that', () => {
  it.each(stories)('$name is the one that a queue with records keeps', async ({ job, happens }) => {
    const [measure, told] = await Promise.all(
      [true, false].map(async (ownRecords) => {
        const one = job();
        const t = recordingBench({ jobs: [one], ownRecords });
        await t.client.enqueue(one, {}, { context: { tenantId: 'acme' }, priority: 'high' });
        const pending = await t.record();
        const outcomes = await happens(t);
        return { pending, outcomes, record: await t.record() };
      }),
    );
    expect(told).toEqual(measure);
  });

  it.each(stories)('$name is missed, and nothing else changes, while the store fails', async (story) => {
    const [sound, failing] = await Promise.all(
      [false, true].map(async (fails) => {
        const one = story.job();
        const store = fails ? { store: broken } : {};
        const t = recordingBench({ jobs: [one], ...store });
        const enqueued = await t.client.enqueue(one, {});
        const outcomes = await story.happens(t);
        const deadLetters = await t.backend.admin!.deadLetters.list({});
        const [stats] = await t.backend.admin!.stats();
        const settled = t.events.filter(({ type }) => type === 'job.settled' || type === 'job.started');
        return { seen: { enqueued, outcomes, deadLetters, stats, settled }, failures: t.failures() };
      }),
    );
    expect(failing!.seen).toEqual(sound!.seen);
    expect(sound!.failures).toEqual([]);
    expect(failing!.failures[0]).toMatchObject({ during: 'recording new jobs', ids: ['id-1'] });
    expect(failing!.failures[0]?.error.message).toBe(
      'The record store failed while recording new jobs: the table is away',
    );
  });
});

/** Nothing can be written; progress, which a handler waits for, goes on. */
const broken = (stores: Parameters<typeof withWriter>[0]) => {
  const { records, ...rest } = withWriter(stores, () => failingWriter);
  return { ...rest, records: { ...records, progress: async () => true } };
};

describe('a record', () => {
  it('says that a payload was refused', async () => {
    const one = defineJob({ name: 'work', payload: z.object({ n: z.number() }), handle: () => {} });
    const t = recordingBench({ jobs: [one] });
    await t.client.enqueue(one, { n: 1 });
    const stricter = defineJob({ name: 'work', payload: z.object({ m: z.number() }), handle: () => {} });
    const later = { ...t.app, jobs: new Map([['work', stricter as unknown as Job]]) };
    await attempt(later, { client: t.client, settler: t.backend }, await t.take());
    expect(await t.record()).toMatchObject({ status: 'failed', reason: 'rejected' });
  });

  it('says that nobody here knows the job, once that is final', async () => {
    const one = job({ name: 'known' });
    const t = recordingBench({ jobs: [one], unknownJobGraceMs: 60_000 });
    await t.client.enqueue(one, {});
    const without = { ...t.app, jobs: new Map<string, Job>() };
    const run = async () => attempt(without, { client: t.client, settler: t.backend }, await t.take());
    expect((await run()).outcome).toBe('requeued');
    expect(await t.record()).toMatchObject({ status: 'pending', attempts: [] });
    t.clock.advance(60_000);
    expect((await run()).outcome).toBe('rejected');
    expect(await t.record()).toMatchObject({ status: 'failed', reason: 'rejected' });
  });
});
