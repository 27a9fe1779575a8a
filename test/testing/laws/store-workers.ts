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

  law(
    'a worker hears with its heartbeats that it is to drain, from any opening of the storage',
    async (t) => {
      const openings = t.openings.map(({ stores }) => stores!.workers!);
      const { workers } = t.stores;
      const beat = beatOf(t, 'w1');
      assert.ok(!(await workers.heartbeat(beat))?.drain);
      assert.ok(!(await workers.heartbeat(beatOf(t, 'w2')))?.drain);
      for (const opening of openings) {
        assert.ok(opening.drain, 'the registry passes nothing on, and declares no lack of it');
        assert.equal(await opening.drain('w1'), true, 'again is the same');
      }
      for (let i = 0; i < 3; i++) {
        await t.advance(5 * second);
        const next = beatOf(t, 'w1', { startedAt: beat.startedAt, draining: true });
        assert.deepEqual(await workers.heartbeat(next), { drain: true });
        assert.deepEqual(await workers.list(t.now() - second), [next], 'the heartbeat is listed as it came');
        assert.ok(
          !(await openings.at(-1)!.heartbeat(beatOf(t, 'w2', { startedAt: beat.startedAt - 1 })))?.drain,
        );
        await workers.remove('w2');
      }
    },
    { needs: 'draining' },
  );

  law(
    'a worker that is unknown cannot be asked to drain, and its id stays as good as new',
    async (t) => {
      const { workers } = t.stores;
      assert.equal(await workers.drain!('w1'), false);
      assert.deepEqual(await workers.list(0), []);
      assert.ok(!(await workers.heartbeat(beatOf(t, 'w1')))?.drain);
      await workers.drain!('w1');
      await workers.remove('w1');
      assert.equal(await workers.drain!('w1'), false);
      assert.ok(
        !(await workers.heartbeat(beatOf(t, 'w1')))?.drain,
        'who says goodbye was the last one asked',
      );
    },
    { needs: 'draining' },
  );

  law(
    'many that ask while heartbeats come in are all heard',
    async (t) => {
      const openings = t.openings.map(({ stores }) => stores!.workers);
      const [workers] = openings;
      const ids = Array.from({ length: 6 }, (_, n) => `w${n}`);
      for (const id of ids) await workers!.heartbeat(beatOf(t, id));
      const asked = await Promise.all(
        ids.flatMap((id, n) => [
          openings[n % openings.length]!.drain!(id),
          openings[(n + 1) % openings.length]!.heartbeat(beatOf(t, id)).then(() => true),
        ]),
      );
      assert.ok(asked.every(Boolean));
      for (const id of ids) assert.deepEqual(await workers!.heartbeat(beatOf(t, id)), { drain: true });
      assert.equal((await workers!.list(0)).length, ids.length);
    },
    { needs: 'draining' },
  );

  law(
    'a worker that was asked to drain and is silent is forgotten as any other',
    async (t) => {
      const { workers } = t.stores;
      await workers.heartbeat(beatOf(t, 'silent'));
      await workers.drain!('silent');
      await t.advance(5 * minute + second);
      await workers.heartbeat(beatOf(t, 'other'));
      assert.deepEqual(
        (await workers.list(0)).map(({ id }) => id),
        ['other'],
      );
    },
    { needs: 'draining' },
  );
}
