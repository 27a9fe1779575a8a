/** The state of a chain, from the records of its links. Each link's envelope lists all links. */

import { config } from '../../base/errors.ts';
import type { ChainFacts, JobStatus } from '../../contract/outcome.ts';
import type { JobRecord, RecordStore } from '../../contract/store.ts';
import { childId, idsOf, linkId, linkOf, mostLinks } from '../../envelope/flow-ids.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Chain, ChainedJobView, ChainLinkView } from '../../kernel/app/chain.ts';
import { believed } from '../../kit/records/believe.ts';

type Records = Pick<RecordStore, 'get' | 'recordsDisabled' | 'writer'>;

/** The records of ended links may be removed before those of later links. */
const linksAtOnce = 5;

export async function chainOf(
  app: App,
  records: Records,
  backend: string,
  id: string,
): Promise<Chain | null> {
  if (records.recordsDisabled)
    throw config(`Backend "${backend}" keeps no records, so chains cannot be shown. Give it a store.`);
  const facts = await factsOf(records, id);
  return facts && viewOf(app, records, facts);
}

async function factsOf(records: Records, id: string): Promise<ChainFacts | null> {
  for (let from = 1; from <= mostLinks; from += linksAtOnce) {
    const ids = Array.from({ length: linksAtOnce }, (_, i) => linkId(id, from + i));
    const asked = ids.flatMap((one) => [records.get(one), records.get(childId(one, 0))]);
    const found = (await Promise.all(asked)).find((record) => record?.chain);
    if (found) return found.chain!;
  }
  return null;
}

async function viewOf(app: App, records: Records, { id, links }: ChainFacts): Promise<Chain> {
  const views: ChainLinkView[] = [];
  // Backwards, so that a link that is started meanwhile is seen and not shown as pending.
  for (let link = links.length; link >= 1; link--)
    views.unshift(await linkView(app, records, id, link, links[link - 1]!));
  const last = views.findLast(({ status }) => status !== null) ?? views[0]!;
  const lost = await endWhereLost(app, records, id, last, links);
  return { id, state: lost ?? stateOf(last, links.length), link: last.link, links: views };
}

/**
 * The end of a chain whose next link is gone: the link was removed or cleared, or its records have expired. A link of a single job enqueues the
 * next link before it ends, but a store that is separate from the queue may have missed that. `null` = the chain has not ended.
 */
async function endWhereLost(
  app: App,
  records: Records,
  id: string,
  last: ChainLinkView,
  links: ChainFacts['links'],
): Promise<Chain['state'] | null> {
  const names = links[last.link];
  if (last.status !== 'completed' || names === undefined || last.jobs.length > 1 || records.writer)
    return null;
  const next = await linkView(app, records, id, last.link + 1, names);
  if (next.status !== null) return null; // it was started meanwhile
  const isForgotten = next.jobs.some(({ job }) => app.jobs.get(job)?.retention?.completedMs !== undefined);
  return isForgotten && next.link === links.length ? 'completed' : 'cancelled';
}

async function linkView(
  app: App,
  records: Records,
  chain: string,
  link: number,
  names: ChainFacts['links'][number],
): Promise<ChainLinkView> {
  const ids = idsOf(chain, link, names);
  const jobs = await Promise.all(
    [names].flat().map(async (job, i): Promise<ChainedJobView> => {
      const jobId = ids[i]!;
      return { id: jobId, job, record: believed(app, await records.get(jobId)) };
    }),
  );
  return { link, status: statusOf(jobs), jobs };
}

/** The state of a link is the first of these that one of its jobs has. */
const order: readonly JobStatus[] = ['processing', 'pending', 'retrying', 'failed', 'expired', 'cancelled'];

function statusOf(jobs: readonly ChainedJobView[]): JobStatus | null {
  const found = jobs.flatMap(({ record }) => record?.status ?? []);
  return order.find((status) => found.includes(status)) ?? found[0] ?? null;
}

function stateOf({ link, status }: ChainLinkView, links: number): Chain['state'] {
  if (status === 'failed' || status === 'cancelled' || status === 'expired') return status;
  return status === 'completed' && link === links ? 'completed' : 'running';
}

/** The job that a link not yet enqueued waits for; `null` = no chain will enqueue it. @param job its name */
export async function linkBefore(
  app: App,
  records: Records,
  job: string,
  id: string,
): Promise<JobRecord | null> {
  const { chain: chainId = '', link = 0 } = linkOf(id) ?? {};
  const chain = await chainOf(app, records, '', chainId);
  if (
    !chain ||
    chain.link > link ||
    !chain.links[link - 1]?.jobs.some((one) => one.id === id && one.job === job)
  )
    return null;
  const found = chain.links[chain.link - 1]!.jobs.flatMap(({ record }) => record ?? []);
  return found.find(({ status }) => status === chain.state) ?? found[0] ?? null;
}
