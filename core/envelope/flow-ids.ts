/** Ids that contain the role of a job in a batch or a chain. They are part of the signed envelope, so they cannot be forged. */

import type { ChainFacts } from '../contract/outcome.ts';
import type { ChainLink, ChainMember } from './chain.ts';

const childPrefix = 'batch.';

export const batchPattern = /^[A-Za-z0-9._-]{1,96}$/;

export const childId = (batch: string, number: number): string => `${childPrefix}${batch}.${number}`;

/** `null` = the job is no child of a batch. */
export function childOf(id: string): { readonly batch: string; readonly number: number } | null {
  if (!id.startsWith(childPrefix)) return null;
  const [, batch, number] = /^batch\.(.{1,96})\.(0|[1-9]\d{0,14})$/.exec(id) ?? [];
  return batch === undefined ? null : { batch, number: Number(number) };
}

export type EndName = 'onSuccess' | 'onFailure' | 'onComplete' | 'onResults';
export const endNames: readonly EndName[] = ['onSuccess', 'onFailure', 'onComplete', 'onResults'];

/** The id of a callback at the end of a round. */
export const endId = (batch: string, name: EndName, round: number): string =>
  `batch-end.${batch}.${name}.${round}`;

export const chainPattern = /^[A-Za-z0-9._-]{1,72}$/;
/** Links of a chain, and jobs of a link. */
export const mostLinks = 100;

export const linkId = (chain: string, link: number): string => `chain.${chain}.${link}`;

/** The chain and link of a job, or of the batch of a link: parallel jobs of a chain are children of a batch. `null` = it is part of no chain. */
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
