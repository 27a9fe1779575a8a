/** Lists and counts of more jobs than one call looks at. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { JobRecord, RecordFilter } from '../../../core/contract/store.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { from, imports, json, project } from '../../e2e/cli/kit.ts';
import { message } from '../sqlite/messages.ts';
import { type Database, freshDatabase } from './schemas.ts';

const backlog = 24_000;
const look = { queues: ['default'], max: 1_000, leaseMs: 60_000, waitMs: 0 };

let database: Database;
let backend: QueueBackend;

beforeAll(async () => {
  database = await freshDatabase();
  backend = postgres({ url: database.url, listen: false });
  const rare = (n: number) => (n % 7_000 === 0 ? { job: 'rare' } : {});
  const jobs = Array.from({ length: backlog }, (_, n) => message({ id: `id-${n}`, ...rare(n) }));
  await backend.enqueue([message({ id: 'quiet', queue: 'quiet', job: 'rare' }), ...jobs]);
});
afterAll(async () => {
  await backend.close();
  await database.drop();
});

async function walk(filter: RecordFilter, between: (page: number) => Promise<unknown> = async () => {}) {
  const pages: JobRecord[][] = [];
  for (let after: string | undefined; ; ) {
    const found = await backend.stores!.records.page({ ...filter, ...(after !== undefined && { after }) });
    pages.push([...found.records]);
    if (found.next === null) return { ids: pages.flat().map(({ id }) => id), pages: pages.length };
    await between(pages.length);
    after = found.next;
  }
}

it('a list goes on past pages on which nothing matches', async () => {
  expect((await walk({ status: 'pending', job: 'rare' })).ids).toEqual([
    'id-21000',
    'id-14000',
    'id-7000',
    'id-0',
    'quiet',
  ]);
  const nothing = await walk({ job: 'nothing' });
  expect(nothing.ids).toEqual([]);
  expect(nothing.pages).toBeGreaterThan(2);
});

it('a list shows at once what a quiet queue has, beside a long one', async () => {
  expect(await walk({ queue: 'quiet' })).toEqual({ ids: ['quiet'], pages: 1 });
  expect(await walk({ idPrefix: 'id-2100' })).toEqual({
    ids: [...Array.from({ length: 10 }, (_, n) => `id-${21_009 - n}`), 'id-2100'],
    pages: 1,
  });
});

it('a list has each job that stays once, in order, whatever comes and ends meanwhile', async () => {
  const ended = new Set<string>();
  const { ids } = await walk({ queue: 'default', max: 900 }, async (page) => {
    await backend.enqueue([message({ id: `late-${page}` })]);
    const leases = await backend.fetch({ ...look, max: 20 });
    const [again, ...others] = leases;
    await backend.nack(again!, { delayMs: 3_600_000, countAttempt: true });
    await backend.ack(others.map((lease) => ({ lease })));
    for (const { token } of others) ended.add(token);
  });
  expect(ids.filter((id) => id.startsWith('id-'))).toEqual(
    Array.from({ length: backlog }, (_, n) => `id-${backlog - 1 - n}`),
  );
  expect(ended.size).toBeGreaterThan(100);
});

it('counts are exact up to 10,000 and an estimate above that', async () => {
  const [quiet] = await backend.admin!.stats('quiet');
  expect(quiet).toMatchObject({ ready: 1, delayed: 0, leased: 0, dead: 0 });
  const [long] = await backend.admin!.stats('default');
  const waiting = (await walk({ queue: 'default', status: 'pending', max: 5_000 })).ids.length;
  expect(waiting).toBeGreaterThan(20_000);
  expect(long!.ready / waiting).toBeGreaterThan(0.8);
  expect(long!.ready / waiting).toBeLessThan(1.2);
  const leases = await backend.fetch({ ...look, max: 1_000 });
  const [later] = await backend.admin!.stats('default');
  expect(later!.leased).toBe(leases.length);
});

it('a purge tells beforehand how much it would remove, also of more than a page', async () => {
  const own = await freshDatabase();
  const backend = postgres({ url: own.url, listen: false });
  await backend.enqueue(Array.from({ length: 10_050 }, (_, n) => message({ id: `done-${n}` })));
  for (let leases = await backend.fetch(look); leases.length > 0; leases = await backend.fetch(look)) {
    const at = Date.now();
    const report = {
      attempt: 1,
      startedAt: at,
      endedAt: at,
      outcome: 'acked',
      error: null,
      output: null,
    } as const;
    await backend.ack(leases.map((lease) => ({ lease, report })));
  }
  await backend.close();
  const config = `${imports}
import { postgres } from ${from('local/backends/postgres/index.ts')};
export const app = createApp({ jobs: [] });
export const backend = () => postgres({ url: ${JSON.stringify(own.url)}, listen: false });`;
  const cwd = project({ 'longshore.config.ts': config });
  const { data } = await json(cwd, ['purge', '--older-than', '0', '--dry-run']);
  expect(data).toMatchObject({ completed: 10_050, exact: true });
  await own.drop();
});
