/** Laws of jobs that somebody takes out of the queue: whatever waits for their end hears of it, wherever it is kept. */

import assert from 'node:assert/strict';
import { type Client, connect, createApp, defineJob, type Job } from '../../../core/index.ts';
import { clearQueue } from '../../../core/operations/forget-jobs.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { appOf } from './app.ts';
import type { Lack } from './harness.ts';
import { type Kit, mail, minute } from './kit.ts';
import type { Law } from './law.ts';

const anything = {
  '~standard': { version: 1, vendor: 'longshore', validate: (value: unknown) => ({ value }) },
} as const;

function shop(t: Kit) {
  const base = appOf(t);
  const job = defineJob({ name: 'row', queue: mail, payload: anything, handle: () => {} });
  const app = createApp({ jobs: [job], signing: base.keyRing(), clock: base.clock });
  const { stores } = t.backend;
  const own = stores && !stores.records.recordsDisabled;
  const client = connect(app, t.backend, own ? {} : { store: memoryStore({ clock: app.clock }) });
  return { client, job };
}

type Way = readonly [
  name: string,
  take: (client: Client, ids: readonly string[]) => Promise<unknown>,
  needs?: Lack,
];

const each =
  (take: (client: Client, id: string) => Promise<unknown>): Way[1] =>
  async (client, ids) => {
    for (const id of ids) await take(client, id);
  };

const ways: readonly Way[] = [
  ['clearing the queue', (client) => clearQueue(client, mail), 'administration'],
  ['removing them', each((client, id) => client.remove(id)), 'waiting jobs'],
  ['cancelling them', each((client, id) => client.cancel(id))],
];

const ended: readonly unknown[] = [undefined, 'cancelled'];
const unique = { key: 'k', during: 'either' } as const;

export function removingLaws(law: Law): void {
  for (const [name, take, needs] of ways) {
    law(
      `${name} ends their records, frees their unique keys and ends their batch`,
      async (t) => {
        const { client, job } = shop(t);
        const enqueue = (options: object) => client.enqueue(job as Job, {}, { queue: mail, ...options });
        const first = await enqueue({ unique });
        const later = t.lacks('delays') ? {} : { delayMs: minute };
        const delayed = await enqueue(later);
        const options = { queue: mail, ...later };
        const id = `law-${process.pid}-${client.app.newId()}`;
        await client.batch('rows', [1, 2], { id, job, options } as never);
        const children = [0, 1].map((number) => `batch.${id}.${number}`);
        await take(client, [first.id, delayed.id, ...children]);
        for (const one of [first.id, delayed.id, ...children])
          assert.ok(ended.includes((await client.status(one))?.status), `${one} has ended`);
        assert.equal((await client.batches.get(id))?.state, 'complete');
        assert.notEqual((await enqueue({ unique })).id, first.id);
      },
      needs ? { needs } : {},
    );
  }
}
