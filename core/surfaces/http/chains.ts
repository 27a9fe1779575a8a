/** `GET /chains/:id` and `POST /chains/:id/cancel`. Loaded with the first of them. */

import { shown } from '../../base/errors.ts';
import { chainPattern } from '../../features/chains/ids.ts';
import type { Chain, ChainedJobView } from '../../kernel/app/chain.ts';
import { asked } from './asked.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { Refusal } from './problem.ts';
import { iso } from './records.ts';

const noRecords =
  'Expected a queue that keeps records of its jobs, got one that does not. Nothing is known of chains there.';

export async function showChain(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  return { status: 200, body: viewOf(await mine(endpoint, call, id)) };
}

export async function cancelChain(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  await mine(endpoint, call, id);
  const { chains } = endpoint.client;
  const result = await asked('cancelling a chain', () => chains.cancel(id), noRecords);
  if (result === 'unknown') throw unknown(id);
  if (result === 'finished') {
    const detail = `Expected a chain that goes on, got one that has ended. GET ${endpoint.basePath}/chains/${id} says how.`;
    throw new Refusal(409, 'CONFLICT', detail);
  }
  const status = result === 'cancelled' ? 200 : 202; // the worker of the link that runs hears of it, and may finish first
  return { status, body: viewOf(await mine(endpoint, call, id)) };
}

/** A chain is of those who may see all of its jobs. Another's is answered like one that does not exist. */
async function mine({ client }: Endpoint, { caller }: Call, id: string): Promise<Chain> {
  if (!chainPattern.test(id)) throw unknown(id);
  const chain = await asked('reading a chain', () => client.chains.get(id), noRecords);
  const isMine = ({ job, record }: ChainedJobView): boolean =>
    (caller.jobs === null || caller.jobs.has(job)) &&
    (caller.tenantId === null || record === null || record.tenantId === caller.tenantId);
  if (chain?.links.every(({ jobs }) => jobs.every(isMine)) && isKnown(chain)) return chain;
  throw unknown(id);
}

/** Of a chain without a record nobody knows whose it is. */
const isKnown = ({ links }: Chain): boolean =>
  links.some(({ jobs }) => jobs.some(({ record }) => record !== null));

function unknown(id: string): Refusal {
  const detail = `Expected the id of a chain that is still kept and yours, got ${shown(id)}. Check it: chain() has told it.`;
  return new Refusal(404, 'NOT_FOUND', detail);
}

const viewOf = ({ links, ...chain }: Chain): Record<string, unknown> => ({
  ...chain,
  links: links.map((link) => ({ ...link, jobs: link.jobs.map(jobOf) })),
});

/** What it has returned stands at `GET /jobs/:id`. */
function jobOf({ id, job, record }: ChainedJobView): Record<string, unknown> {
  const { status = null, error = null, createdAt = null, finishedAt = null } = record ?? {};
  const at = (ms: number | null) => (ms === null ? null : iso(ms));
  return { id, job, status, createdAt: at(createdAt), finishedAt: at(finishedAt), error };
}
