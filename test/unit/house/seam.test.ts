/** How much there is to implement for somebody who writes a backend. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod/mini';
import { connect, createApp, defineJob, keyRing, tick } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const folder = join(import.meta.dirname, '../../../core/contract');
/** What is given to a backend, or given by others. */
const given = [
  'Check',
  'DiagnosisRequest',
  'HeardOfLeases',
  'JobFailure',
  'SqlTransaction',
  'WorkerRegistry',
];

/** By interface, those that must be there and those that may. */
function verbsIn(file: string): { readonly verb: string; readonly isOptional: boolean }[] {
  const text = readFileSync(join(folder, file), 'utf8');
  return [...text.matchAll(/^export interface (\w+).*?^}/gms)].flatMap(([body, name]) =>
    given.includes(name!)
      ? []
      : [...body.matchAll(/^ {2}(\w+)(\??)\(/gm)].map(([, verb, mark]) => ({
          verb: `${name}.${verb}`,
          isOptional: mark === '?',
        })),
  );
}

it('a backend has to have eight verbs, and with stores and administration fewer than forty-five', () => {
  // What the kit makes of texts is in a folder of its own: a backend may have one of them where that is faster.
  const verbs = readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .flatMap(verbsIn);
  const named = verbs.map(({ verb }) => verb).join(' ');
  const queue = verbs.filter(
    ({ verb, isOptional }) => /^(Job(Sender|Settler|Source)|QueueBackend)\./.test(verb) && !isOptional,
  );
  expect(queue.map(({ verb }) => verb.split('.')[1]).sort()).toEqual([
    'abandon',
    'ack',
    'close',
    'enqueue',
    'fetch',
    'nack',
    'reapExpired',
    'renew',
  ]);
  expect(verbs.filter(({ isOptional }) => !isOptional).length, named).toBeLessThanOrEqual(44);
  expect(verbs.length, named).toBeLessThanOrEqual(65);
});

it('of keys, records and texts the kit makes all that jobs use', async () => {
  const clock = createVirtualClock();
  const { keys, records, texts } = memory({ clock }).stores!;
  const backend = { ...memory({ clock }), stores: { keys, records, texts: texts! } };
  const remind = defineJob({ name: 'remind', payload: z.object({ n: z.number() }), handle: async () => {} });
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32).fill(7) }]);
  const app = { ...createApp({ jobs: [remind], signing }), clock };
  const client = connect(app, backend);
  await client.schedules.upsert({ name: 'hourly', everyMs: 3_600_000, job: remind, payload: { n: 1 } });
  clock.advance(3_600_000);
  expect(await tick(app, client)).toHaveLength(1);
  const { workers, metrics, audit, limits, steps, batches } = client.stores;
  expect(await workers.list(0)).toEqual([]);
  expect(await metrics!.read({ step: 'day', from: 0, to: clock.now() })).toEqual([]);
  expect(await audit!.page({})).toEqual({ entries: [], next: null });
  expect(await limits!.list({})).toEqual([]);
  expect(await steps!.write('job:a', '1', null, clock.now() + 1)).not.toBeNull();
  expect((await texts!.read(['job:a']))[0]?.text).toBe('1');
  expect(await batches!.get('none')).toBeNull();
});
