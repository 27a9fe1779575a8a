/** Stores whose code, and the SDK it needs, is loaded with the first key, record or heartbeat. */

import type { RecordWriter, Stores } from '../../contract/store.ts';
import { verbsOf } from '../lazy.ts';

export interface OpenStores extends Required<Pick<Stores, 'keys' | 'records' | 'workers' | 'close'>> {
  readonly writer: RecordWriter;
}

export function lazyStores(load: () => Promise<OpenStores>): Omit<OpenStores, 'writer'> {
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
      writer: part('writer', ['enqueued', 'started', 'settled', 'retried']),
    },
    workers: part('workers', ['heartbeat', 'list', 'remove']),
    async close() {
      await (await opening)?.close();
    },
  };
}
