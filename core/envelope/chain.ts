/** The member `chain` of an envelope: which link of which chain the job is, and all that the chain is made of. */

/** One job of a chain, and what its enqueueing is given. */
export interface ChainedJob {
  readonly job: string;
  readonly queue?: string;
  /** 0 (first) to 9 (last). */
  readonly priority?: number;
  readonly delayMs?: number;
  readonly maxRetries?: number;
  readonly group?: string;
  readonly name?: string;
}

/** Jobs in a list run at the same time: the link after them is given what all of them return. */
export type ChainLink = ChainedJob | readonly ChainedJob[];

export interface ChainMember {
  readonly id: string;
  /** Which link this job is, counted from 1. */
  readonly link: number;
  readonly links: readonly ChainLink[];
}

export const chainPattern = /^[A-Za-z0-9._-]{1,72}$/;
/** Links of a chain, and jobs of a link. */
export const mostLinks = 100;

export function isChain(x: unknown): boolean {
  const { id, link, links } = x as Partial<ChainMember>;
  return (
    typeof id === 'string' &&
    chainPattern.test(id) &&
    isList(links) &&
    Number.isSafeInteger(link) &&
    link! >= 1 &&
    link! <= links.length &&
    links.every((one) => (Array.isArray(one) ? isList(one) && one.every(isJob) : isJob(one)))
  );
}

const isList = (x: unknown): x is readonly unknown[] =>
  Array.isArray(x) && x.length >= 1 && x.length <= mostLinks;

function isJob(x: unknown): boolean {
  if (typeof x !== 'object' || x === null) return false;
  const { job, queue, priority = 0, delayMs = 0, maxRetries = 0, group, name } = x as Partial<ChainedJob>;
  return (
    isText(job) &&
    [queue, group, name].every((text) => text === undefined || isText(text)) &&
    [priority, delayMs, maxRetries].every((count) => Number.isSafeInteger(count) && count >= 0) &&
    priority <= 9
  );
}

const isText = (x: unknown): boolean => typeof x === 'string' && x !== '' && x.length <= 256;
