/** Ids that say which link of which chain a job is. Those of jobs that run at the same time are those of children of a batch. */

import type { ChainFacts } from '../../contract/facts.ts';
import type { ChainLink, ChainMember } from '../../envelope/chain.ts';
import { childId, childOf } from '../batches/ids.ts';

export const chainPattern = /^[A-Za-z0-9._-]{1,72}$/;
/** Links of a chain, and jobs of a link. */
export const mostLinks = 100;

export const linkId = (chain: string, link: number): string => `chain.${chain}.${link}`;

/** Of a job, or of the batch of a link; `null` = it is part of no chain. */
export function linkOf(id: string): { readonly chain: string; readonly link: number } | null {
  const own = id.startsWith('batch.') ? childOf(id)?.batch : id;
  if (!own?.startsWith('chain.')) return null;
  const [, chain, link] = /^chain\.(.{1,72})\.([1-9]\d{0,2})$/.exec(own) ?? [];
  return chain === undefined ? null : { chain, link: Number(link) };
}

export function idsOf(chain: string, link: number, jobs: ChainLink | ChainFacts['links'][number]): string[] {
  const id = linkId(chain, link);
  return Array.isArray(jobs) ? jobs.map((_, i) => childId(id, i)) : [id];
}

/** For people: `link 2 of 3 of chain X, next: publish`. */
export function chainText({ id, link, links }: ChainFacts): string {
  const next = links[link];
  const names = next === undefined ? 'the last one' : `next: ${[next].flat().join(' and ')}`;
  return `link ${link} of ${links.length} of chain ${id}, ${names}`;
}

/** The member of the link after this one; `null` = this is the last one. */
export const nextOf = ({ id, link, links }: ChainMember): ChainMember | null =>
  link < links.length ? { id, link: link + 1, links } : null;
