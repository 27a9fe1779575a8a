/** Lists that are looked through in pages. */

import { flag, maxFlag } from '../config/flags.ts';
import { words } from '../config/values.ts';
import { given } from '../config/without-undefined.ts';

export const pageFlags = {
  max: maxFlag,
  after: flag('--after <cursor>', 'go on where an earlier list has ended', words),
} as const;

export interface Pages<Row> {
  readonly found: readonly Row[];
  readonly next: string | null;
}

/** As many as wanted: a page may have fewer, and go on. */
export async function firstOf<Row>(
  pageOf: (page: { readonly max: number; readonly after?: string }) => Promise<Pages<Row>>,
  max: number,
  after?: string,
): Promise<Pages<Row>> {
  const found: Row[] = [];
  for (let from = after; ; ) {
    const page = await pageOf({ max: max - found.length, ...given({ after: from }) });
    found.push(...page.found);
    if (page.next === null || found.length >= max) return { found, next: page.next };
    from = page.next;
  }
}
