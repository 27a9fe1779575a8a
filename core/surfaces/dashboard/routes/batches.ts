import { childStates } from '../../../features/batches/roles.ts';
import { eachOf } from '../../../kernel/enqueue/backends.ts';
import { Refusal } from '../../http/problem.ts';
import type { BatchDetail, BatchList, Unavailable } from '../api.ts';
import type { Endpoint, Run } from '../call.ts';
import { change } from './change.ts';
import { missing, unavailable } from './find.ts';
import { oneOf, pageQuery, queryOf } from './query.ts';

export const listBatches: Run = async (endpoint, { url, visitor }) => {
  const { max = 100, ...after } = queryOf(url, pageQuery);
  const none = noBatches(endpoint);
  if (none) return none;
  const { batches } = await endpoint.operatorFor(visitor);
  const found = await batches.list({ max, ...after });
  const next = found.length < max ? null : found.at(-1)!.id;
  return { batches: found, next } satisfies BatchList;
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

/** The operator says which are not known. */
const anyId = (_: Endpoint, id: string): string => id;

export const cancelBatch: Run = change(anyId, async ({ batches }, id) => {
  if (await batches.cancel(id))
    return { message: 'Cancelled: children that wait never run, and those that run are told to abort.' };
  throw new Refusal(409, 'CONFLICT', 'All of its children have ended: there is nothing to cancel any more.');
});

export const retryBatch: Run = change(anyId, async ({ batches }, id) => {
  const count = await batches.retryFailed(id);
  const message =
    count === 0
      ? 'None of its children is a dead letter, so none runs again.'
      : `${count} ${count === 1 ? 'child runs' : 'children run'} again.`;
  return { message };
});
