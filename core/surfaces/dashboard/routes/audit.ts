import type { Run } from '../call.ts';
import { unavailable } from './find.ts';
import { pageQuery, queryOf } from './query.ts';

export const listAudit: Run = async (endpoint, { url, visitor }) => {
  const asked = queryOf(url, pageQuery);
  if (!endpoint.client.stores.audit)
    return unavailable(
      `Nothing beside backend "${endpoint.client.backend.name}" remembers who did what: give the dashboard a store with an audit log, for example sqliteStore().`,
    );
  return (await endpoint.operatorFor(visitor)).audit({ max: 100, ...asked });
};
