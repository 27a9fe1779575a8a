/** Filters of record lists, and the cursors of their pages. */

import { LongshoreError, shown } from '../../base/errors.ts';
import type { AttemptReport } from '../../contract/outcome.ts';
import type { JobRecord, RecordFilter } from '../../contract/store.ts';
import type { RecordRow } from './row.ts';

/** The most records that one call reads when the index cannot tell whether they match. */
export const mostLooked = 10_000;

/** The members of a record that `matches` reads. */
export type Listed = Pick<
  JobRecord,
  'id' | 'queue' | 'job' | 'status' | 'tenantId' | 'idempotencyKey' | 'schedule' | 'createdAt' | 'error'
> & { readonly attempts: readonly Pick<AttemptReport, 'worker' | 'host' | 'error'>[] };

export function listedOf(row: RecordRow): Listed {
  const { idempotencyKey = null, schedule = null } = row.facts ?? {};
  return { ...row, idempotencyKey, schedule };
}

const compared = ['queue', 'job', 'status', 'tenantId', 'idempotencyKey', 'schedule'] as const;

export function matches(record: Listed, filter: RecordFilter): boolean {
  const { idPrefix, createdFrom = -Infinity, createdBefore = Infinity } = filter;
  return (
    compared.every((name) => filter[name] === undefined || record[name] === filter[name]) &&
    (idPrefix === undefined || record.id.startsWith(idPrefix)) &&
    record.createdAt >= createdFrom &&
    record.createdAt < createdBefore &&
    matchesAttempts(record, filter)
  );
}

/** `worker` and `error` of the filter, for stores that compare the other members themselves. */
export function matchesAttempts(
  { error, attempts }: Pick<Listed, 'error' | 'attempts'>,
  { worker, error: piece }: RecordFilter,
): boolean {
  if (worker !== undefined && !attempts.some((one) => one.worker === worker || one.host === worker))
    return false;
  return (
    piece === undefined ||
    error?.includes(piece) === true ||
    attempts.some((one) => one.error?.message.includes(piece))
  );
}

/** A position in a list as a cursor: the caller passes it back for the next page. */
export const cursorOf = (...position: readonly (number | string)[]): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url');

/** A page of `max` items and the cursor of the next one. @param found one item more than `max`, if there is one */
export function pageOf<T>(
  found: readonly T[],
  max: number,
  positionOf: (last: T) => readonly (number | string)[],
): { readonly shown: T[]; readonly next: string | null } {
  const shown = found.slice(0, Math.max(0, max));
  const last = found.length > max ? shown.at(-1) : undefined;
  return { shown, next: last === undefined ? null : cursorOf(...positionOf(last)) };
}

/** The error for a cursor that the store did not make. */
export const wrongCursor = (cursor: string): LongshoreError =>
  new LongshoreError('OPTION', `Expected after to be the \`next\` of an earlier page, got ${shown(cursor)}.`);

/**
 * The position in a cursor: one member per kind, of that type. Throws `OPTION` for any other text.
 */
export function positionIn<Kinds extends readonly ('number' | 'string')[]>(
  cursor: string,
  ...kinds: Kinds
): { readonly [I in keyof Kinds]: Kinds[I] extends 'number' ? number : string } {
  let position: unknown;
  try {
    position = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    position = null;
  }
  const fits = (value: unknown, i: number) =>
    typeof value === kinds[i] && (typeof value === 'string' || Number.isSafeInteger(value));
  if (Array.isArray(position) && position.length === kinds.length && position.every(fits))
    return position as never;
  throw wrongCursor(cursor);
}
