/** The rules of batches that stores share: marks are two bits per child, and what is counted is counted from them. */

import type { BatchState, ChildEnd } from '../../contract/derived/batches.ts';

export const keepCalledMs = 7 * 86_400_000;
export const keepSilentMs = 90 * 86_400_000;
/** So long the process that has completed a batch has to call what comes after it, before another one does. */
export const callWithinMs = 10_000;
export const mostListedBatches = 100;

/** Of children that follow each other. Bit n of byte m is child 8m + n. */
export interface Marks {
  /** Those that have ended. */
  readonly ended: Uint8Array;
  /** Those of them that have failed. */
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

/** Takes the mark of a child that has failed. `false` = there is none. */
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

/** The ends by batch; of batches in one order, so that two calls never wait for each other. */
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

/** When it may be forgotten. */
export const endOfBatch = ({
  called,
  completedAt,
  changedAt,
}: Pick<BatchState, 'called' | 'completedAt' | 'changedAt'>): number =>
  called && completedAt !== null ? completedAt + keepCalledMs : changedAt + keepSilentMs;
