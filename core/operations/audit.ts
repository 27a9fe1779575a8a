/** An action between the two entries that tell of it: without the first one nothing is done. */

import { LongshoreError } from '../base/errors.ts';
import { reportingFailures, toError } from '../base/failure.ts';
import type { AuditEntry } from '../contract/derived/audit.ts';
import type { OperatorHost } from './host.ts';
import type { OperatorAction } from './types.ts';

/** Notes for the audit log how many things were changed until now, and what else there is to say. */
type RecordChange = (changed: number | null, note?: string) => void;

/** Where the stores keep no audit log, it is done without. Throws `BACKEND` when the first entry could not be written. */
export async function audited<T>(
  { client, identity }: OperatorHost,
  action: OperatorAction,
  target: string,
  work: (record: RecordChange) => Promise<T>,
): Promise<T> {
  const { app, stores } = client;
  const { audit } = stores;
  const operation = app.newId();
  let count: number | null = null;
  let note: string | null = null;
  const record: RecordChange = (changed, text) => {
    count = changed;
    note = text ?? note;
  };
  const entry = (phase: AuditEntry['phase'], id: string): AuditEntry => {
    const { actor, from } = identity;
    return { id, at: app.clock.now(), operation, phase, actor, from, action, target, count, note };
  };
  if (!audit) return work(record);
  try {
    await audit.append(entry('begun', operation));
  } catch (cause) {
    throw new LongshoreError(
      'BACKEND',
      `The audit log could not be written, so nothing was done: ${toError(cause).message}`,
      { cause },
    );
  }
  const end = (phase: 'done' | 'failed') =>
    reportingFailures(
      app.events,
      `noting the end of ${action}`,
      [],
      () => audit.append(entry(phase, `${operation}.end`)), // after the first one, also within a millisecond
      'audit',
    );
  try {
    const result = await work(record);
    await end('done');
    return result;
  } catch (error) {
    record(count, toError(error).message);
    await end('failed');
    throw error;
  }
}
