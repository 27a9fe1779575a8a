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

/** The payload of a link is checked when it is enqueued. */
export function isChainOrNull(x: unknown): x is ChainMember | null | undefined {
  if (x == null) return true;
  const { id, link, links } = x as Partial<ChainMember>;
  return (
    typeof id === 'string' &&
    Array.isArray(links) &&
    links[link! - 1] &&
    links.flat().every((one) => typeof one?.job === 'string')
  );
}
