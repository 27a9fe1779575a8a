import { afterAll, afterEach, expect, it } from 'vitest';
import { defineJob, SnoozeError } from '../../../core/index.ts';
import { until } from '../../kit/until.ts';
import { anything, createStage } from './transactions-kit.ts';

const stage = await createStage();
afterEach(() => stage.clear());
afterAll(() => stage.drop());

it("undoes a handler's writes when it snoozes, and spends no attempt", async () => {
  let runs = 0;
  const work = defineJob({
    name: 'work',
    payload: anything,
    transaction: true,
    maxRetries: 0,
    idempotencyKey: () => 'invoice-7',
    async handle(_, { tx, attempt }) {
      await tx.query('INSERT INTO effects (name) VALUES ($1)', [`attempt ${attempt}`]);
      if (++runs < 3) throw new SnoozeError(1);
    },
  });
  const bench = await stage.bench([work]);
  await bench.client.enqueue(work, 1);
  const worker = bench.start();
  await until(() => runs === 3);
  expect((await worker.stop()).counts).toMatchObject({ acked: 1, requeued: 2 });
  expect(await stage.effects()).toEqual(['attempt 1']);
});
