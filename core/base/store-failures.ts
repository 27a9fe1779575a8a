import { LongshoreError } from './errors.ts';
import type { Events } from './events.ts';
import { toError } from './failure.ts';

/** Makes a write that only describes: its failure is an event, and changes nothing for the job. `null` = it failed. */
export async function reportingFailures<T>(
  events: Events,
  during: string,
  ids: readonly string[],
  write: () => Promise<T>,
  store: 'record' | 'payload' | 'metric' | 'audit' | 'key' | 'batch' = 'record',
): Promise<T | null> {
  try {
    return await write();
  } catch (cause) {
    const message = `The ${store} store failed while ${during}: ${toError(cause).message}`;
    const error = cause instanceof LongshoreError ? cause : new LongshoreError('BACKEND', message, { cause });
    events.emit({ type: 'store.failed', during, ids, error });
    return null;
  }
}
