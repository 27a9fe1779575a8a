/** Reads ids and children for people. Separate from `ids.ts`, which every function loads. */

import { type EndName, endNames } from '../../envelope/flow-ids.ts';

/** `null` = the job is not the callback of a batch. */
export function endOf(
  id: string,
): { readonly batch: string; readonly end: EndName; readonly round: number } | null {
  const [, batch, end, round] = /^batch-end\.(.{1,96})\.(\w+)\.([1-9]\d{0,14})$/.exec(id) ?? [];
  const found = endNames.find((name) => name === end);
  return batch !== undefined && found ? { batch, end: found, round: Number(round) } : null;
}

/** Which children to list; `open` = not ended. */
export const childStates = ['all', 'failed', 'open'] as const;
