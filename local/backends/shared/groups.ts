/** What backends agree about that keep the lines of groups themselves. */

import type { OutgoingMessage } from '../../../core/contract/queue.ts';

/** Where a job of a group is. The numbers are stored. */
export const GroupState = {
  /** In no narrow table: its row in `grouped` is all that says that it waits. */
  inLine: 0,
  /** In `ready`; or in `delayed`, while the others wait for its retry. */
  head: 1,
  /** In `delayed`: it joins the line when its time has come. */
  apart: 2,
  leased: 3,
} as const;

/**
 * The next message of a group counts as ready after the one before it, so that groups take turns within a millisecond too. A group that
 * is alone may be given out faster than that: it is this much ahead at most when others come.
 */
export const mostAheadMs = 1_000;

/** What a backend keeps of a job that has a group, as long as it may run. */
export type Grouping = Pick<OutgoingMessage, 'order'> & { readonly group: string };

/** As text; `null` = it has no group. */
export const groupingText = ({ group, order }: Pick<OutgoingMessage, 'group' | 'order'>): string | null =>
  group === null ? null : JSON.stringify({ group, ...(order && { order }) });

/** The members of its message, from that text. */
export function groupingIn(text: string | null): Pick<OutgoingMessage, 'group' | 'order'> {
  if (text === null) return { group: null };
  const { group, order } = JSON.parse(text) as Grouping;
  return { group, ...(order && { order }) };
}
