import assert from 'node:assert/strict';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { type Kit, mail, minute, reports, second } from './kit.ts';
import type { Law } from './law.ts';

function beatOf(t: Kit, id: string, change: Partial<WorkerBeat> = {}): WorkerBeat {
  return {
    id,
    host: 'hafen-1',
    pid: 4711,
    queues: [mail, reports],
    concurrency: 10,
    startedAt: t.now(),
    seenAt: t.now(),
    running: 3,
    counts: { acked: 7, requeued: 2, 'dead-lettered': 1, rejected: 0, 'skipped-idempotent': 4 },
    failed: 3,
    jobs: [{ id: 'job-1', job: 'mail.send', startedAt: t.now() }],
    memoryBytes: 123_456_789,
    ...change,
  };
}

export function workerLaws(law: Law): void {
  law('a worker is listed as it described itself', async (t) => {
    const beat = beatOf(t, 'w1');
    await t.stores.workers.heartbeat(beat);
    assert.deepEqual(await t.stores.workers.list(t.now() - minute), [beat]);
  });

  law('a later heartbeat replaces the one before', async (t) => {
    const { workers } = t.stores;
    const first = beatOf(t, 'w1');
    await workers.heartbeat(first);
    await t.advance(minute);
    const last: WorkerBeat = {
      ...first,
      seenAt: t.now(),
      running: 0,
      queues: [mail],
      counts: { ...first.counts, acked: 8 },
    };
    await workers.heartbeat(last);
    assert.deepEqual(await workers.list(0), [last]);
  });

  law('only workers seen since then are listed, oldest first', async (t) => {
    const { workers } = t.stores;
    const start = t.now();
    const silent = beatOf(t, 'silent');
    await workers.heartbeat(silent);
    await t.advance(4 * minute);
    const young = beatOf(t, 'a-young', { startedAt: start + 2 * second });
    const old = beatOf(t, 'z-old', { startedAt: start + second });
    await workers.heartbeat(young);
    await workers.heartbeat(old);
    assert.deepEqual(await workers.list(start + minute), [old, young]);
    assert.deepEqual(await workers.list(start), [silent, old, young]);
    assert.deepEqual(await workers.list(t.now() + minute), []);
  });

  law(
    'a worker that was not seen for 5 minutes is forgotten with the heartbeat of another one',
    async (t) => {
      const { workers } = t.stores;
      const start = t.now();
      await workers.heartbeat(beatOf(t, 'silent'));
      await t.advance(5 * minute + second);
      assert.equal((await workers.list(start)).length, 1, 'while there is no other, it shows what has gone');
      const other = beatOf(t, 'other');
      await workers.heartbeat(other);
      assert.deepEqual(await workers.list(start), [other]);
    },
  );

  law('a worker that says goodbye is listed no longer', async (t) => {
    const { workers } = t.stores;
    await workers.heartbeat(beatOf(t, 'w1'));
    await workers.heartbeat(beatOf(t, 'w2'));
    await workers.remove('w1');
    await workers.remove('unknown');
    assert.deepEqual(
      (await workers.list(0)).map(({ id }) => id),
      ['w2'],
    );
  });
}
