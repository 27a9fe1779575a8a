import { childStates } from '../../../features/batches/roles.ts';
import type { ChainedJobView } from '../../../kernel/app/chain.ts';
import { eachOf } from '../../../kernel/enqueue/backends.ts';
import type { BatchDetail, BatchList, ChainView, Unavailable } from '../api.ts';
import type { Endpoint, Run } from '../call.ts';
import { noRecords } from './jobs.ts';
import { missing, oneOf, pageQuery, queryOf, unavailable } from './query.ts';

export const listBatches: Run = async (endpoint, { url, visitor }) => {
  const page = queryOf(url, pageQuery);
  const none = noBatches(endpoint);
  if (none) return none;
  const { batches } = await endpoint.operatorFor(visitor);
  return (await batches.list(page)) satisfies BatchList;
};

export const showBatch: Run = async (endpoint, { visitor, parameter: id }) => {
  const none = noBatches(endpoint);
  if (none) return none;
  const { batches } = await endpoint.operatorFor(visitor);
  const detail = await batches.show(id);
  if (!detail) throw missing('batch', id);
  return detail satisfies BatchDetail;
};

export const listChildren: Run = async (endpoint, { url, visitor, parameter: id }) => {
  const asked = queryOf(url, { state: oneOf(childStates), ...pageQuery });
  const none = noBatches(endpoint);
  if (none) return none;
  const { batches } = await endpoint.operatorFor(visitor);
  return batches.children(id, asked);
};

function noBatches({ client }: Endpoint): Unavailable | null {
  if (eachOf(client).some(({ stores }) => stores.batches)) return null;
  return unavailable(
    `Backend "${client.backend.name}" keeps no batches: give the dashboard and the workers a store, for example sqliteStore().`,
  );
}

export const showChain: Run = async (endpoint, { visitor, parameter: id }) => {
  const { client } = endpoint;
  if (eachOf(client).every(({ stores }) => stores.records.recordsDisabled)) return noRecords(client);
  const chain = await (await endpoint.operatorFor(visitor)).chains.get(id);
  if (!chain) throw missing('chain', id);
  const links = chain.links.map((link) => ({ ...link, jobs: link.jobs.map(brief) }));
  return { ...chain, links } satisfies ChainView;
};

/** Leaves out the output of the job. */
function brief({ id, job, record }: ChainedJobView): ChainView['links'][number]['jobs'][number] {
  if (!record) return { id, job, record: null };
  const { status, error, createdAt, finishedAt } = record;
  return { id, job, record: { status, error, createdAt, finishedAt } };
}
