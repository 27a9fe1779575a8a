import { batchPattern } from '../envelope/flow-ids.ts';
import type { ChildrenRequest } from '../features/batches/show.ts';
import { batchChildren, showBatch } from '../features/batches/show.ts';
import type { Batch } from '../kernel/app/batch.ts';
import { eachOf } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { keepersOf, orFirst } from '../routing/each.ts';
import { newestOf, type PageRequest } from '../routing/pages.ts';
import { change, look, mustExist, notThere, type Resource } from './operation.ts';
import { count, moment, named, object, orNull, text } from './shapes.ts';

const share = orNull({ type: 'number', minimum: 0 });

const members = {
  id: text,
  name: text,
  tenantId: orNull(text),
  state: { enum: ['sending', 'running', 'cancelling', 'complete', 'cancelled'] },
  outcome: { enum: ['succeeded', 'failed', 'cancelled', null] },
  total: orNull(count),
  sent: count,
  succeeded: count,
  failed: count,
  percent: share,
  perSecond: share,
  etaMs: orNull(count),
  createdAt: moment,
  changedAt: moment,
  completedAt: orNull(moment),
};

export const batch: Resource<Batch> = {
  noun: 'batch',
  parameter: 'id',
  text: 'whole id of a batch',
  check: (client, id) => mustExist(batch, client, id),
  find: async ({ batches }, id) => (batchPattern.test(id) ? batches.get(id) : null),
  watch: ({ batches }, id, signal) => batches.watch(id, { signal }),
  hasEnded: ({ completedAt }) => completedAt !== null,
  // The children may be of any job, and the batch does not record of which.
  needs: 'all jobs',
  owners: ({ tenantId }) => [{ tenantId }],
  shape: named('Batch', object(members)),
  origin: 'batch() returned it',
  notKept: [501, 'This queue keeps no batches. Look up the jobs by their ids.'],
};

export const batches = {
  get: look({
    summary: 'Progress of a batch',
    subject: batch,
    http: { route: 'GET /batches/{id}', operationId: 'getBatch' },
    run: (client, id: string) => client.batches.get(id),
  }),
  show: look({
    summary: 'Progress of a batch, with its callbacks',
    subject: batch,
    run: async (client, id: string) => showBatch(client, id),
  }),
  children: look({
    summary: 'The children of a batch by number, with their errors',
    subject: batch,
    async run(client, id: string, request?: ChildrenRequest) {
      const page = await batchChildren(client, id, request);
      if (page) return page;
      throw notThere(batch, id);
    },
  }),
  list: look({
    summary: 'Batches, newest first, with their progress',
    async run(client, page: PageRequest = {}) {
      const keepers = keepersOf(eachOf(client), ({ stores }) => stores.batches);
      const pageOf = async (one: Client, asked: PageRequest & { readonly max: number }) => {
        const rows = await one.batches.list(asked);
        return { rows, next: rows.length < asked.max ? null : rows.at(-1)!.id };
      };
      const newestFirst = ({ createdAt }: Batch) => createdAt;
      const { rows: batches, ...rest } = await newestOf(orFirst(client, keepers), page, pageOf, newestFirst);
      return { batches, ...rest };
    },
  }),
  cancel: change({
    action: 'batch.cancel',
    summary: 'Cancel the children of a batch that have not ended',
    subject: batch,
    http: { route: 'POST /batches/{id}/cancel', operationId: 'cancelBatch' },
    run: (client, id: string) => client.batches.cancel(id),
    done: 'Cancelled: children that wait never run, and those that run are aborted.',
    nothing: 'All children of this batch have ended, so it cannot be cancelled.',
    returned: (result) => result === 'cancelled',
    lasts: true,
  }),
  retryFailed: change({
    action: 'batch.retry',
    summary: 'Retry the children of a batch that are dead letters',
    subject: batch,
    run: (client, id: string) => client.batches.retryFailed(id),
    http: {
      route: 'POST /batches/{id}/retry',
      operationId: 'retryBatch',
      description: 'The batch, and how many of its children run again',
      errors: [409],
      answer: {
        shape: named('RetriedBatch', object({ ...members, retried: count })),
        beside: true,
        of: (retried) => ({ retried }),
      },
    },
    done: (retried) =>
      retried === 0
        ? 'No child of this batch is a dead letter, so none runs again.'
        : `${retried} ${retried === 1 ? 'child runs' : 'children run'} again.`,
    lasts: true, // a batch may have a million failed children
  }),
};
