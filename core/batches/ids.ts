/** Ids that say what a job is to a batch. They are part of the signed envelope, so nobody makes one up. */

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

/** Of a job that is called at the end of a round. */
export const endId = (batch: string, name: EndName, round: number): string =>
  `batch-end.${batch}.${name}.${round}`;

/** `null` = no batch has called the job. */
export function endOf(
  id: string,
): { readonly batch: string; readonly end: EndName; readonly round: number } | null {
  const [, batch, end, round] = /^batch-end\.(.{1,96})\.(\w+)\.([1-9]\d{0,14})$/.exec(id) ?? [];
  const found = endNames.find((name) => name === end);
  return batch !== undefined && found ? { batch, end: found, round: Number(round) } : null;
}

/** Which children are asked for; `open` = they have not ended. */
export const childStates = ['all', 'failed', 'open'] as const;
