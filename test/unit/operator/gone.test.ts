/** Dead letters that an operator discards, on a queue beside its store: records that do not know of the death end, and batches hear of it. */

import { expect, it } from 'vitest';
import { createOperator } from '../../../core/operations/index.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { bench, job } from '../core/kit.ts';

it.each([
  ['crash-loop', 'the broker has moved it', 'cancelled', 'complete'],
  ['rejected', 'it may be a copy of another job that goes on', 'pending', 'running'],
] as const)('one that died as %s: %s', async (reason, _, status, state) => {
  const work = job();
  const { app, clock } = bench({ jobs: [work] });
  const { stores: _1, ...backend } = memory({ clock });
  const client = connect(app, backend, { store: memoryStore({ clock }) });
  const { id } = await client.batch('rows', [1], { id: 'a', job: work } as never);
  const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 1_000, waitMs: 0 });
  await backend.abandon(lease!, { reason, error: 'by the broker' });
  const operator = createOperator(client, { actor: 'ada', from: 'a test' });
  expect(await operator.deadLetters.discard({ filter: {} })).toMatchObject({ done: 1 });
  expect((await client.status('batch.a.0'))?.status).toBe(status);
  expect((await client.batches.get(id))?.state).toBe(state);
});

it('a dead child that is retried by itself is counted when it completes', async () => {
  let fails = true;
  const handle = () => {
    if (fails) throw new Error('boom');
  };
  const work = job({ maxRetries: 0, handle });
  const { client, next } = bench({ jobs: [work] });
  await client.batch('rows', [1], { id: 'a', job: work } as never);
  await next();
  expect(await client.batches.get('a')).toMatchObject({ state: 'complete', failed: 1 });
  fails = false;
  const operator = createOperator(client, { actor: 'ada', from: 'a test' });
  await operator.deadLetters.retry({ ids: ['batch.a.0'] });
  expect(await client.batches.get('a')).toMatchObject({ state: 'running', failed: 0 });
  await next();
  expect(await client.batches.get('a')).toMatchObject({
    state: 'complete',
    succeeded: 1,
    failed: 0,
  });
});
