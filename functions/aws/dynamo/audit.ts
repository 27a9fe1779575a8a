/** The audit log in the table. */

import type { AuditLog } from '../../../core/contract/audit.ts';
import { auditKeepMs, auditLog } from '../../../core/kit/records/audit-log.ts';
import type { Dynamo } from './api.ts';
import { expiry, sortKeyOf } from './sort-keys.ts';
import { partitionKey, sortKey } from './table.ts';

const partition = 'audit';

export function dynamoAudit(dynamo: Dynamo): AuditLog {
  return auditLog({
    add: ({ at, id }, entry) =>
      dynamo.call('writing the audit log', (api) => {
        const place = { [partitionKey]: partition, [sortKey]: sortKeyOf(at, id) };
        return api.write({ pk: `audit#${id}`, ...place, entry, expiresAt: expiry(at + auditKeepMs) }, null);
      }),
    read: (before, max) =>
      dynamo.call('reading the audit log', async (api) => {
        const to = before && sortKeyOf(before.at, before.id);
        // One more, because a range has both of its ends.
        const found = await api.query({ partition, ...(to && { to }), max: max + 1 });
        const older = found
          .filter(({ [sortKey]: place }) => to === null || (place as string) < to)
          .slice(0, max);
        const items = await api.read(older.map(({ pk }) => pk as string));
        const texts = new Map(items.map(({ pk, entry }) => [pk, entry as string]));
        return older.flatMap(({ pk }) => texts.get(pk!) ?? []);
      }),
    purge: async () => 0, // DynamoDB removes what has expired
  });
}
