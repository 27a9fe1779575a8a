/** Code that backends share which keep the lines of groups themselves. */

import type { OutgoingMessage } from '../../../core/contract/queue.ts';

/** Where a job of a group is. The numbers are stored. */
export const GroupState = {
  /** Waiting in line. It is in no narrow table, only in `grouped`. */
  inLine: 0,
  /** In `ready`; or in `delayed`, while the others wait for its retry. */
  head: 1,
  /** In `delayed`: it joins the line when it is due. */
  apart: 2,
  leased: 3,
} as const;

/**
 * The next job of a group counts as ready at least 1 ms after the one before it, so that groups take turns. A group without others may
 * be fetched faster than one job per ms. Its ready times run at most this far ahead.
 */
export const mostAheadMs = 1_000;

/** The group and order of a job, kept while it may run. */
export type Grouping = Pick<OutgoingMessage, 'order'> & { readonly group: string };

/** As text; `null` = it has no group. */
export const groupingText = ({ group, order }: Pick<OutgoingMessage, 'group' | 'order'>): string | null =>
  group === null ? null : JSON.stringify({ group, ...(order && { order }) });

/** The members of a message, from that text. */
export function groupingIn(text: string | null): Pick<OutgoingMessage, 'group' | 'order'> {
  if (text === null) return { group: null };
  const { group, order } = JSON.parse(text) as Grouping;
  return { group, ...(order && { order }) };
}
