/** Loads the SDK on first use, and turns its errors into LongshoreErrors. */

import { type Service, serviceOf } from '../../../core/kit/service.ts';
import { storageError } from '../storage/errors.ts';
import type { TableStoreOptions } from './options.ts';
import { openApi, type TableApi } from './sdk.ts';

export type Table = Pick<Service<TableApi>, 'call'>;

export function openTable(options: TableStoreOptions): Table {
  const failure = { service: 'Table storage', where: `table ${options.table}` };
  return serviceOf(
    () => openApi(options),
    (during, error) => storageError(failure, during, error),
  );
}
