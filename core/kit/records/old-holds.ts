/** Pauses of version 0.1.0, which kept no list of the held keys. */

import type { LimitStore } from '../../contract/derived/limits.ts';

const prefix = 'pause:';
const pageSize = 100;

/** The pauses that `heldUntilReset` does not know. */
export async function oldHolds(limits: LimitStore): Promise<string[]> {
  const known = new Set(await limits.heldUntilReset?.(prefix));
  const found: string[] = [];
  for (let after = ''; ; ) {
    const page = await limits.list({ prefix, after, max: pageSize });
    for (const { key, heldUntil } of page)
      if (heldUntil === Number.POSITIVE_INFINITY && !known.has(key)) found.push(key);
    if (page.length < pageSize) return found;
    after = page.at(-1)!.key;
  }
}

/** Adds the old pauses to the list. Resolves with whether there were any. */
export async function listOldHolds(limits: LimitStore): Promise<boolean> {
  const keys = await oldHolds(limits);
  for (const key of keys) await limits.hold(key, Number.POSITIVE_INFINITY);
  return keys.length > 0;
}
