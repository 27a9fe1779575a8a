/** An audit log over any table that is ordered by time. The rules are the same for all tables. */

import { LongshoreError, shown } from '../../base/errors.ts';
import type { AuditEntry, AuditLog } from '../../contract/derived/audit.ts';
import { pageOf, positionIn, wrongCursor } from './filter.ts';

/** The position of an entry: by `at`, and by `id` within a moment. */
export interface AuditPosition {
  /** Epoch ms, whole. */
  readonly at: number;
  /** 1 to 100 of printable ASCII, no space. */
  readonly id: string;
}

export interface AuditTable {
  /** Adds the text, unless there is one with this id. */
  add(position: AuditPosition, text: string): Promise<unknown>;
  /** The newest texts before that position, newest first; `null` = from the newest on. */
  read(before: AuditPosition | null, max: number): Promise<readonly string[]>;
  /** Removes some entries from before this moment, the oldest first, and returns how many. */
  purge(before: number): Promise<number>;
}

const idPattern = /^[!-~]{1,100}$/;
/** As long as the daily metrics. */
export const auditKeepMs = 400 * 86_400_000;
/** Characters. Longer texts are cut, not refused: an action that has happened must be in the log. */
const longestName = 256;
const longestText = 500;
/** Per page. */
const mostEntries = 1_000;

export function auditLog(table: AuditTable): AuditLog {
  return {
    async append(entry) {
      const { id } = entry;
      if (!idPattern.test(id))
        throw new LongshoreError(
          'OPTION',
          `Expected the id of an audit entry to be 1 to 100 characters of ASCII without spaces, got ${shown(id)}.`,
        );
      const at = Math.max(0, Math.floor(entry.at));
      await table.add({ at, id }, JSON.stringify(bounded({ ...entry, at })));
    },
    async page({ max = 100, after }) {
      const before = after === undefined ? null : positionOf(after);
      if (max < 1) return { entries: [], next: null };
      const count = Math.min(max, mostEntries);
      const texts = await table.read(before, count + 1);
      const found = texts.map((text) => JSON.parse(text) as AuditEntry);
      const { shown: entries, next } = pageOf(found, count, ({ at, id }) => [at, id]);
      return { entries, next };
    },
    purge: (now) => table.purge(now - auditKeepMs),
  };
}

function positionOf(cursor: string): AuditPosition {
  const [at, id] = positionIn(cursor, 'number', 'string');
  if (at < 0 || !idPattern.test(id)) throw wrongCursor(cursor); // they go into a query
  return { at, id };
}

function bounded({
  id,
  at,
  operation,
  phase,
  actor,
  from,
  action,
  target,
  count,
  note,
}: AuditEntry): AuditEntry {
  return {
    id,
    at,
    operation: cut(operation, longestName),
    phase,
    actor: cut(actor, longestName),
    from: cut(from, longestName),
    action: cut(action, longestName),
    target: cut(target, longestText),
    count,
    note: note === null ? null : cut(note, longestText),
  };
}

const cut = (text: string, longest: number): string => {
  if (text.length <= longest) return text;
  const kept = text.slice(0, longest - 1);
  return `${kept.isWellFormed() ? kept : kept.replace(/[\uD800-\uDBFF]$/, '')}…`;
};
