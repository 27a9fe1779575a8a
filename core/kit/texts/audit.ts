/** The audit log over texts. The name of an entry is its moment and its id, both inverted, so that the newest comes first. */

import type { AuditLog } from '../../contract/derived/audit.ts';
import type { TextStore } from '../../contract/texts.ts';
import { type AuditPosition, auditKeepMs, auditLog } from '../records/audit-log.ts';
import { backwards } from '../records/sortable.ts';
import { sectionOf } from './section.ts';

/** A purge removes entries that are too old. An entry that no purge has removed expires a day later. */
const keepMs = auditKeepMs + 86_400_000;
const purgeSize = 500;

/** Ids and flipped ids are printable ASCII without spaces. The last letter puts an id behind longer ids that begin with it. */
const flipped = (id: string): string =>
  id.replace(/./g, (letter) => String.fromCharCode(0x9f - letter.charCodeAt(0))).concat('\u007f');
const placeOf = ({ at, id }: AuditPosition): string => `${backwards(at)}${flipped(id)}`;

export function textAudit(texts: TextStore): AuditLog {
  const entries = sectionOf(texts, 'audit/');
  /** The place of each entry by its id, so that no id is kept twice. */
  const ids = sectionOf(texts, 'audit-id/');
  return auditLog({
    async add({ at, id }, text) {
      const [place, endsAt] = [placeOf({ at, id }), at + keepMs];
      const isNew = (await ids.write(id, place, null, endsAt)) !== null;
      // The process that wrote the id may have died before it wrote the entry.
      if (isNew || (await ids.read(id))?.text === place) await entries.write(place, text, null, endsAt);
    },
    async read(before, max) {
      return (await entries.list('', before ? placeOf(before) : '', max)).map(({ text }) => text);
    },
    async purge(before) {
      if (texts.expires) return 0;
      // After all entries of that moment, and before older ones.
      const past = await entries.list('', `${backwards(Math.ceil(before))}\u0080`, purgeSize);
      if (past.length === 0) return 0;
      const gone = await entries.removeAll(past.map(({ name }) => name));
      await ids.removeAll(past.map(({ text }) => (JSON.parse(text) as AuditPosition).id));
      return gone.filter(Boolean).length;
    },
  });
}
