/** Loads the SDK on first use, and turns its errors into LongshoreErrors. */

import { storageError } from '../storage/errors.ts';
import type { TableStoreOptions } from './options.ts';
import type { TableApi } from './sdk.ts';

export interface Table {
  /** Runs `work`; an error says what it happened `during`. */
  call<T>(during: string, work: (api: TableApi) => Promise<T>): Promise<T>;
}

export function openTable(options: TableStoreOptions): Table {
  const failure = { service: 'Table storage', where: `table ${options.table}`, sdk: '@azure/data-tables' };
  let opening: Promise<TableApi> | null = null;
  const open = async (): Promise<TableApi> => (await import('./sdk.ts')).openApi(options);
  return {
    async call(during, work) {
      try {
        opening ??= open().catch((error) => {
          opening = null; // an identity that is missing may be there the next time
          throw error;
        });
        return await work(await opening);
      } catch (error) {
        throw storageError(failure, during, error);
      }
    },
  };
}
