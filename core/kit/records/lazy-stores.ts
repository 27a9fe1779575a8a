/** Stores whose code, and the SDK it needs, is loaded with the first key, record or heartbeat. */

import type { KeyStore, RecordStore, RecordWriter, Stores, WorkerRegistry } from '../../contract/store.ts';
import { verbsOf } from '../lazy.ts';

export interface OpenStores {
  readonly keys: KeyStore;
  readonly records: RecordStore;
  readonly writer: RecordWriter;
  readonly workers: WorkerRegistry;
  close(): Promise<void>;
}

export function lazyStores(
  load: () => Promise<OpenStores>,
): Pick<Stores, 'keys' | 'records' | 'workers'> & Required<Pick<Stores, 'close'>> {
  let opening: Promise<OpenStores> | null = null;
  const open = (): Promise<OpenStores> => {
    opening ??= load();
    return opening;
  };
  const part = <Name extends Exclude<keyof OpenStores, 'close'>>(
    name: Name,
    verbs: readonly (keyof OpenStores[Name] & string)[],
  ): OpenStores[Name] => verbsOf(verbs, async () => (await open())[name]);
  return {
    keys: part('keys', ['claim', 'extend', 'complete', 'release']),
    records: {
      ...part('records', ['get', 'list', 'progress', 'cancel', 'cancelRequested', 'purge']),
      writer: part('writer', ['enqueued', 'started', 'settled']),
    },
    workers: part('workers', ['heartbeat', 'list', 'remove']),
    async close() {
      await (await opening)?.close();
    },
  };
}
