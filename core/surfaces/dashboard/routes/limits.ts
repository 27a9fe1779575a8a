import { stoppedJobs } from '../../../features/limits/stopped-jobs.ts';
import { eachOf } from '../../../kernel/enqueue/backends.ts';
import type { StoppedView } from '../api.ts';
import type { Run } from '../call.ts';
import { change } from './change.ts';
import { noLimits } from './find.ts';
import { integer, membersOf, pageQuery, queryOf, text, textMember, wrong } from './query.ts';

export const listLimits: Run = async (endpoint, { url, visitor }) => {
  const asked = queryOf(url, { prefix: text, ...pageQuery, max: integer(1, 1_000) });
  const { client } = endpoint;
  if (!eachOf(client).some(({ stores }) => stores.limits)) return noLimits(client.backend.name);
  const { limits } = await endpoint.operatorFor(visitor);
  return limits.list(asked);
};

/** With the key in the body: a proxy may change what is encoded in a path. */
export const resetLimit: Run = async (endpoint, call) => {
  const { key } = membersOf(call.body, 'the body', { key: textMember });
  if (key === undefined) throw wrong('the key of a limit, got none.');
  return change('limits.reset')(endpoint, { ...call, parameter: key });
};

export const listStopped: Run = async ({ client }) => {
  if (!client.stores.limits) return noLimits(client.backend.name);
  return (await stoppedJobs(client)) satisfies StoppedView[];
};
