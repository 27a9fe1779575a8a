/** How often workers with nothing to do ask the server. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { countStatements } from './count-statements.ts';
import { type Database, freshDatabase } from './schemas.ts';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

it('a worker with five queues and a running job sends 2 a second at most, each further one 1, and a cancel is heard', async () => {
  const { workers, cancelMs, failures } = await countStatements(database);
  expect(failures).toEqual([]);
  const [first, ...others] = workers;
  expect(first!.perSecond, first!.statements).toBeLessThanOrEqual(2);
  for (const { perSecond, statements } of others) expect(perSecond, statements).toBeLessThanOrEqual(1);
  expect(cancelMs).toBeLessThan(1_000);
});
