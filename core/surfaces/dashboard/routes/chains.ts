import type { ChainedJobView } from '../../../kernel/app/chain.ts';
import { eachOf } from '../../../kernel/enqueue/backends.ts';
import { Refusal } from '../../http/problem.ts';
import type { ChainView } from '../api.ts';
import type { Endpoint, Run } from '../call.ts';
import { change } from './change.ts';
import { missing } from './find.ts';
import { noRecords } from './jobs.ts';

export const showChain: Run = async (endpoint, { visitor, parameter: id }) => {
  const { client } = endpoint;
  if (eachOf(client).every(({ stores }) => stores.records.recordsDisabled)) return noRecords(client);
  const chain = await (await endpoint.operatorFor(visitor)).chains.get(id);
  if (!chain) throw missing('chain', id);
  const links = chain.links.map((link) => ({ ...link, jobs: link.jobs.map(brief) }));
  return { ...chain, links } satisfies ChainView;
};

/** Without what handlers have returned. */
function brief({ id, job, record }: ChainedJobView): ChainView['links'][number]['jobs'][number] {
  if (!record) return { id, job, record: null };
  const { status, error, createdAt, finishedAt } = record;
  return { id, job, record: { status, error, createdAt, finishedAt } };
}

const anyId = (_: Endpoint, id: string): string => id;

export const cancelChain: Run = change(anyId, async ({ chains }, id) => {
  switch (await chains.cancel(id)) {
    case 'cancelled':
      return { message: 'Cancelled: no further link begins.' };
    case 'cancelling':
      return { message: 'The worker of the link that runs is told to abort it, and may finish first.' };
    default:
      throw new Refusal(409, 'CONFLICT', 'The chain has ended: there is nothing to cancel any more.');
  }
});
