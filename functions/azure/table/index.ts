/** Keys, records and workers in one table of Azure Table storage: an app on Azure needs no other database. */

import { config, shown } from '../../../core/base/errors.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { checkStorage } from '../storage/access.ts';
import { migrateTable } from './migrate.ts';
import type { TableStoreOptions } from './options.ts';
import { openStores } from './stores.ts';

export type { TableStoreOptions } from './options.ts';

/**
 * Opens nothing, and loads no SDK, before the first use. The table must exist: `longshore migrate` or a template makes it. Times are
 * those of the processes' clocks, so the clocks of the hosts should agree to the second.
 */
export function tableStore(options: TableStoreOptions): Stores & Required<Pick<Stores, 'migrate' | 'close'>> {
  const { table } = options;
  if (typeof table !== 'string' || !/^[A-Za-z][A-Za-z0-9]{2,62}$/.test(table)) {
    throw config(
      `tableStore() expects table to be 3 to 63 letters and digits, the first one a letter, got ${shown(table)}.`,
    );
  }
  checkStorage(options, 'tableStore()');
  return {
    ...openStores(options),
    migrate: () => migrateTable(options),
  };
}
