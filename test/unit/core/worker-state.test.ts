import { expect, test } from 'vitest';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { runnerOf } from '../../../core/kit/worker-state.ts';

const counts = { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };
const beatOf = (id: string, startedAt: number): WorkerBeat => ({
  ...{ id, host: 'h', pid: 1, queues: ['mail'], concurrency: 1, startedAt: 0, seenAt: 0, running: 1 },
  ...{ counts, memoryBytes: 1 },
  jobs: [{ id: 'a', job: 'mail.send', startedAt }],
});

test('a job runs where it began last: a worker that died still names it', () => {
  const { jobs: _, ...old } = beatOf('old', 3);
  const beats = [old, beatOf('dead', 1), beatOf('alive', 2)];
  expect(runnerOf(beats, 'a')).toMatchObject({ beat: { id: 'alive' }, job: { startedAt: 2 } });
  expect(runnerOf(beats, 'b')).toBeNull();
});
