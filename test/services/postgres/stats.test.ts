import { afterAll, beforeAll, expect, it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { message } from '../sqlite/messages.ts';
import { createSchemas, type Schemas } from './schemas.ts';

let schemas: Schemas;
beforeAll(async () => {
  schemas = await createSchemas();
});
afterAll(() => schemas.drop());

it('counts every job once while jobs are leased and released', async () => {
  const schema = await schemas.take();
  const backend = postgres({ url: schemas.url, schema });
  const jobs = 20;
  await backend.enqueue(Array.from({ length: jobs }, (_, i) => message({ id: `job${i}`, body: 'x' })));
  let over = false;
  const move = async () => {
    while (!over) {
      const leases = await backend.fetch({ queues: ['default'], max: jobs, leaseMs: 60_000, waitMs: 0 });
      await Promise.all(leases.map((lease) => backend.nack(lease, { delayMs: 0, countAttempt: false })));
    }
  };
  const moving = [move(), move()];
  const sums = new Set<number>();
  for (let times = 0; times < 100; times++) {
    const [stats] = await backend.admin!.stats('default');
    sums.add(stats!.ready + stats!.delayed + stats!.leased);
  }
  over = true;
  await Promise.all(moving);
  expect([...sums]).toEqual([jobs]);
  await backend.close();
});
