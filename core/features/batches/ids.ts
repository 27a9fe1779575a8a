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
