import type { Done } from '../api.ts';
import type { Run } from '../call.ts';
import { membersOf, textMember } from './body.ts';
import { noLimits } from './find.ts';
import { integer, pageQuery, queryOf, text, wrong } from './query.ts';

export const listLimits: Run = async (endpoint, { url, visitor }) => {
  const asked = queryOf(url, { prefix: text, ...pageQuery, max: integer(1, 1_000) });
  const { backend, stores } = endpoint.client;
  if (!stores.limits) return noLimits(backend.name);
  const { limits } = await endpoint.operatorFor(visitor);
  return limits.list(asked);
};

/** With the key in the body: a proxy may change what is encoded in a path. */
export const resetLimit: Run = async (endpoint, { body, visitor }) => {
  const { key } = membersOf(body, 'the body', { key: textMember });
  if (key === undefined) throw wrong('the key of a limit, got none.');
  const { limits } = await endpoint.operatorFor(visitor);
  const changed = await limits.reset(key);
  const message = changed
    ? 'Free again: the jobs that wait for it come now.'
    : 'Nothing of it was in use, and it was not held.';
  return { message } satisfies Done;
};
