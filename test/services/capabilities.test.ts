import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Contract, connect, createApp, defineJob, keyRing } from '../../core/index.ts';
import { createSqsQueues, sqs } from '../../functions/aws/index.ts';
import { serviceBus } from '../../functions/azure/index.ts';
import { beanstalkd } from '../../local/backends/beanstalkd/index.ts';
import { memory } from '../../local/backends/memory/index.ts';
import { memoryStore } from '../../local/backends/memory/store.ts';
import { postgres } from '../../local/backends/postgres/index.ts';
import { redis } from '../../local/backends/redis/index.ts';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { sync } from '../../local/backends/sync.ts';
import { movable } from '../../local/move/contract.ts';
import { startServiceBus } from '../../local/simulate/service-bus/server.ts';
import { until } from '../kit/until.ts';
import { openEndpoint } from './aws/endpoint.ts';
import { startBeanstalkd } from './beanstalkd/server.ts';
import { freshDatabase } from './postgres/schemas.ts';
import { freshRedis } from './redis/database.ts';

/** The capability table as `row → backend → cell`. */
function readTable(): Map<string, Map<string, string>> {
  const page = readFileSync(new URL('../../docs/backends.md', import.meta.url), 'utf8');
  const lines = page.split('\n').filter((line) => line.startsWith('|'));
  const cells = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const names = cells(lines[0]!).slice(1);
  return new Map(
    lines.slice(2).map((line) => {
      const [row, ...values] = cells(line);
      return [row!, new Map(names.map((name, i) => [name, values[i]!]))];
    }),
  );
}

const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
const store = memoryStore();
const job = defineJob({ name: 'any', payload: z.null(), async handle() {} });
const database = await freshDatabase();
const tubes = await startBeanstalkd();
const endpoint = await openEndpoint();
const queues = await createSqsQueues({
  endpoint: endpoint.url,
  queues: ['q'],
  prefix: `capabilities-${process.pid}-`,
});
const broker = await startServiceBus();
broker.createQueue('q', { duplicateWindowMs: 600_000 });
afterAll(async () => {
  await broker.stop();
  await endpoint.stop();
  await tubes.remove();
  await database.drop();
});
const backends: readonly Contract.QueueBackend[] = [
  sqlite(':memory:'),
  postgres(database.url),
  redis(await freshRedis()),
  beanstalkd(tubes.url),
  memory(),
  sync(createApp({ jobs: [job] })),
  sqs({ endpoint: endpoint.url, queues }),
  serviceBus({ connectionString: broker.connectionString }),
];
const yes = (holds: boolean): string => (holds ? 'yes' : 'no');
const any = (ms: number | null): string => (ms === null ? 'any' : `${ms} ms`);

async function administrationOf({ admin }: Contract.QueueBackend): Promise<string> {
  if (!admin) return 'no';
  const pauses = await admin.setPaused('q', true).then(
    () => admin.setPaused('q', false).then(() => true),
    () => false,
  );
  return pauses ? 'yes' : 'dead letters and counts';
}

/** What has state of its own and keeps no record of a job that waits must be given a store. */
async function stateOf({ stores }: Contract.QueueBackend, id: string): Promise<string> {
  if (!stores) return 'no';
  return (await stores.records.get(id)) ? 'yes' : 'with a store';
}

/** Whether whoever waits for a job hears of every end, or only of those of this process. */
async function checkEnds({ stores }: Contract.QueueBackend, id: string, cell: string): Promise<void> {
  const record = (await stores?.records.get(id)) ?? null;
  expect(cell === 'as its store').toBe(record === null);
  if (record === null) return;
  const watch = stores!.records.watchEnd!(record, () => {});
  if (cell === 'is woken') await until(() => watch.hears);
  else expect([cell, watch.hears]).toEqual(['is woken by its own process, else asks', false]);
  watch.stop();
}

/** What has state of its own and lacks this part of it must be given a store that has it. */
function partOf(
  { stores }: Contract.QueueBackend,
  part: 'metrics' | 'audit' | 'limits' | 'steps' | 'batches' | 'schedules',
): string {
  if (!stores) return 'no';
  return stores[part] ? 'yes' : 'with a store';
}

/** Whether an app with a longest queue can be connected. */
function lengthOf(backend: Contract.QueueBackend): string {
  const limited = createApp({ jobs: [job], queues: { q: { maxLength: 1 } }, signing });
  try {
    connect(limited, backend, { store });
    return 'approximate';
  } catch {
    return 'no';
  }
}

describe('the capability table', () => {
  const table = readTable();

  it('has a column for every backend and no other', () => {
    expect([...table.get('subpath')!.keys()]).toEqual(backends.map(({ name }) => name));
  });

  it.each(backends.map((backend) => [backend.name, backend] as const))(
    'is true for %s',
    async (name, backend) => {
      const cell = (row: string) => table.get(row)?.get(name);
      expect(cell('largest body')).toBe(`${backend.limits.maxBodyBytes} bytes`);
      expect(cell('longest delay')).toBe(any(backend.limits.maxDelayMs));
      expect(cell('longest lease')).toBe(any(backend.limits.maxLeaseMs));
      const keepsOrder = backend.keepsOrder?.('q', 'wait') ?? false;
      expect(cell("[`order: 'group'`](groups.md#order)")?.startsWith(yes(keepsOrder))).toBe(true);
      expect(cell('administration')).toBe(await administrationOf(backend));
      expect(
        cell('a backlog moves with its past')?.startsWith(yes(movable(backend).transfer !== undefined)),
      ).toBe(true);
      const waiting = yes(backend.pending !== undefined);
      expect(cell("`onConflict: 'replace'`, `debounce` ([unique](unique.md))")).toBe(waiting);
      expect(cell('waiting jobs: change, promote, remove')?.startsWith(waiting)).toBe(true);
      const transactions = backend.enqueueIn !== undefined && backend.begin !== undefined;
      expect(cell('enqueue in your transaction, `ctx.tx`, steps with a transaction')).toBe(yes(transactions));
      const message = {
        id: 'twice',
        queue: 'q',
        job: 'x',
        body: '{}',
        priority: 5,
        notBefore: null,
        group: null,
        tenantId: null,
      };
      const [, second] = await backend.enqueue([message, message]);
      expect(cell('records, keys, workers')).toBe(await stateOf(backend, message.id));
      expect(cell('`maxLength` of a queue')?.split(/[:;]/)[0]).toBe(lengthOf(backend));
      await checkEnds(backend, message.id, cell('a wait for a [result](lifecycle.md#wait-for-the-result)')!);
      expect(cell('numbers')?.split(',')[0]).toBe(partOf(backend, 'metrics'));
      expect(cell('audit log')).toBe(partOf(backend, 'audit'));
      expect(cell('limits of jobs and queues')).toBe(partOf(backend, 'limits'));
      expect(cell('[steps](steps.md), sleep, events')).toBe(partOf(backend, 'steps'));
      expect(cell('[batches](batches.md)')).toBe(partOf(backend, 'batches'));
      expect(cell('schedules made at run time')).toBe(partOf(backend, 'schedules'));
      expect(cell('second copy of an id')?.includes('dropped')).toBe(second!.ok && second!.duplicate);
      await backend.close();
    },
  );
});
