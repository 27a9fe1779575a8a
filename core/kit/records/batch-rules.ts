/** The rules of batches that stores share. Each child has two bits, its marks, and all counts are made from them. */

import type { BatchState, ChildEnd } from '../../contract/derived/batches.ts';

export const keepCalledMs = 7 * 86_400_000;
export const keepSilentMs = 90 * 86_400_000;
/** The process that has completed a batch enqueues its callbacks within this time. After that another process does. */
export const callWithinMs = 10_000;
export const mostListedBatches = 100;

/** The marks of consecutive children. Bit n of byte m is child 8m + n. */
export interface Marks {
  /** Children that have ended. */
  readonly ended: Uint8Array;
  /** Ended children that have failed. */
  readonly failed: Uint8Array;
}

export const noMarks = (children: number): Marks => ({
  ended: new Uint8Array(children / 8),
  failed: new Uint8Array(children / 8),
});

export function setMark({ ended, failed }: Marks, at: number, isFailed: boolean): void {
  const [byte, bit] = [at >> 3, 1 << (at & 7)];
  if (!isFailed) failed[byte]! &= ~bit;
  else if ((ended[byte]! & bit) === 0) failed[byte]! |= bit;
  ended[byte]! |= bit;
}

/** Clears the marks of a failed child. `false` = it has not failed. */
export function takeMark({ ended, failed }: Marks, at: number): boolean {
  const [byte, bit] = [at >> 3, 1 << (at & 7)];
  if ((failed[byte]! & bit) === 0) return false;
  failed[byte]! &= ~bit;
  ended[byte]! &= ~bit;
  return true;
}

export const isSet = (bits: Uint8Array, at: number): boolean =>
  ((bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;

const ones = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

export function countBits(bits: Uint8Array): number {
  let count = 0;
  for (const byte of bits) count += ones[byte]!;
  return count;
}

/** The ends by batch. Batches are sorted, so that two calls never wait for each other. */
export function byBatch(ends: readonly ChildEnd[]): [batch: string, ends: ChildEnd[]][] {
  const groups = Map.groupBy(ends, ({ batch }) => batch);
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}

export const isAllEnded = ({
  sealed,
  sent,
  succeeded,
  failed,
}: Pick<BatchState, 'sealed' | 'sent' | 'succeeded' | 'failed'>): boolean =>
  sealed && succeeded + failed === sent;

/** When the batch may be removed. */
export const endOfBatch = ({
  called,
  completedAt,
  changedAt,
}: Pick<BatchState, 'called' | 'completedAt' | 'changedAt'>): number =>
  called && completedAt !== null ? completedAt + keepCalledMs : changedAt + keepSilentMs;
