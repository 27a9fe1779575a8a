/** Runs an action between two audit entries, one before and one after it. If the first cannot be written, the action does not run. */

import { LongshoreError } from '../base/errors.ts';
import { reportingFailures, toError } from '../base/failure.ts';
import type { AuditEntry } from '../contract/derived/audit.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import type { DeadLetterFilter, DeadLetterSelection, OperatorAction, OperatorIdentity } from './types.ts';

/** Sets the count of changed things, and a note, for the last audit entry. */
type RecordChange = (changed: number | null, note?: string) => void;

/** Without an audit log in the stores, only runs `work`. Throws `BACKEND` when the first entry cannot be written. */
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
      () => audit.append(entry(phase, `${operation}.end`)), // sorts behind the first entry, even in the same millisecond
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

/** Passed to every method of an operator. */
export interface OperatorHost {
  readonly client: Client;
  readonly identity: OperatorIdentity;
}

export const noDeadLetter = (id: string): LongshoreError =>
  new LongshoreError(
    'NOT_FOUND',
    `There is no dead letter ${JSON.stringify(id.slice(0, 128))} here. It may have been retried or discarded.`,
  );

/** An audit entry names at most this many ids. */
const mostIds = 10;

/** Describes a selection for the audit log. */
export function selectionText(
  selection: DeadLetterSelection,
  options: Readonly<Record<string, unknown>>,
): string {
  const extras = Object.entries(options)
    .filter(([, value]) => typeof value === 'number')
    .map(([name, value]) => `${name} ${value}`);
  return [wordsOf(selection), ...extras].join(', ');
}

function wordsOf(selection: DeadLetterSelection): string {
  if ('filter' in selection) return filterText(selection.filter);
  const { ids } = selection;
  const more = ids.length > mostIds ? ` and ${ids.length - mostIds} more` : '';
  return `${ids.slice(0, mostIds).join(' ')}${more}`;
}

function filterText({ diedFrom, diedBefore, ...equal }: DeadLetterFilter): string {
  const parts = Object.entries(equal)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  if (diedFrom !== undefined) parts.push(`died from ${new Date(diedFrom).toISOString()}`);
  if (diedBefore !== undefined) parts.push(`died before ${new Date(diedBefore).toISOString()}`);
  return parts.length > 0 ? `all with ${parts.join(', ')}` : 'all';
}
