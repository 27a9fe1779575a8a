/** Stores whose code, and the SDK it needs, is loaded with the first key, record or heartbeat. */

import { verbsOf } from '../../base/lazy.ts';
import type { AuditLog } from '../../contract/audit.ts';
import type { BatchStore } from '../../contract/batches.ts';
import type { LimitStore } from '../../contract/limits.ts';
import type { MetricStore } from '../../contract/metrics.ts';
import type { ScheduleStore } from '../../contract/schedules.ts';
import type { StepStore } from '../../contract/steps.ts';
import type { RecordWriter, Stores } from '../../contract/store.ts';

export interface OpenStores extends Required<Pick<Stores, 'keys' | 'records' | 'workers' | 'close'>> {
  readonly writer: RecordWriter;
  /** Loads the SDK. Rejects with `CONFIG` where it cannot be. */
  load?(): Promise<unknown>;
  /** Loads code that only those need who count. */
  metrics(): Promise<MetricStore>;
  /** Loads code that only operators need. */
  audit(): Promise<AuditLog>;
  /** Loads code that only jobs with limits need. Always the same one. */
  limits(): Promise<LimitStore>;
  /** Loads code that only jobs with steps need. */
  steps(): Promise<StepStore>;
  /** Loads code that only batches need. Always the same one. */
  batches(): Promise<BatchStore>;
  /** Loads code that a tick needs, and who makes schedules. */
  schedules(): Promise<ScheduleStore>;
}

/** Of a key, which is one item. With ids as they are by default each takes some 150 bytes, and an item holds 380,000. */
const mostSlots = 2_500;

type Lazy = Required<Omit<Stores, 'texts' | 'payloads' | 'migrate' | 'diagnose'>>;

export function lazyStores(
  load: () => Promise<OpenStores>,
  limits: Pick<LimitStore, 'mostPerSecond'> = {},
): Lazy {
  let opening: Promise<OpenStores> | null = null;
  const open = (): Promise<OpenStores> => {
    opening ??= load();
    return opening;
  };
  const part = <Name extends 'keys' | 'records' | 'workers' | 'writer'>(
    name: Name,
    verbs: readonly (keyof OpenStores[Name] & string)[],
  ): OpenStores[Name] => verbsOf(verbs, async () => (await open())[name]);
  return {
    keys: part('keys', ['claim', 'extend', 'complete', 'release']),
    records: {
      ...part('records', [
        'get',
        'list',
        'page',
        'payload',
        'body',
        'progress',
        'cancel',
        'cancelRequested',
        'purge',
      ]),
      writer: part('writer', ['enqueued', 'started', 'settled', 'retried', 'changed']),
    },
    workers: part('workers', ['heartbeat', 'list', 'remove', 'drain']),
    metrics: verbsOf(['write', 'read', 'purge'], async () => (await open()).metrics()),
    audit: verbsOf(['append', 'page', 'purge'], async () => (await open()).audit()),
    limits: {
      mostSlots,
      ...limits,
      ...verbsOf(
        ['take', 'extend', 'free', 'wake', 'hold', 'reset', 'heldUntilReset', 'list', 'leave', 'waitsFor'],
        async () => (await open()).limits(),
      ),
    },
    steps: verbsOf(['read', 'write', 'remove'], async () => (await open()).steps()),
    batches: verbsOf(
      ['open', 'sent', 'ended', 'get', 'list', 'cancel', 'unended', 'failed', 'reopen', 'called', 'toCheck'],
      async () => (await open()).batches(),
    ),
    schedules: verbsOf(['get', 'write', 'remove', 'list', 'due'], async () => (await open()).schedules()),
    load: async () => void (await (await open()).load?.()),
    async close() {
      await (await opening)?.close();
    },
  };
}
