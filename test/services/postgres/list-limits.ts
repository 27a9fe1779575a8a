/** What lists of a million jobs may read. */

import type { RecordFilter } from '../../../core/contract/store.ts';

export interface Limits {
  readonly rows: number;
  readonly pages: number;
}

/** Found by an index. */
const few: Limits = { rows: 2_200, pages: 12_000 };
/** As many as one page may look at. */
const window: Limits = { rows: 14_200, pages: 42_000 };

export const lists: Readonly<Record<string, readonly [filter: RecordFilter, limits: Limits]>> = {
  'of all jobs': [{}, few],
  'of waiting jobs': [{ status: 'pending' }, few],
  // Those of another queue, which are leased, came after them.
  'of waiting jobs of a queue': [{ status: 'pending', queue: 'queue3' }, window],
  'of jobs of a queue that is empty': [{ status: 'pending', queue: 'nothing' }, few],
  'of retrying jobs': [{ status: 'retrying' }, few],
  'of completed jobs': [{ status: 'completed' }, few],
  'of failed jobs': [{ status: 'failed' }, few],
  'of jobs of a tenant': [{ status: 'pending', tenantId: 'acme' }, few],
  'with a key': [{ idempotencyKey: 'order-1' }, few],
  'of a schedule': [{ schedule: 'nightly' }, few],
  'of jobs whose ids begin so': [{ idPrefix: 'a00010000' }, few],
  'of waiting jobs that none is like': [{ status: 'pending', job: 'nothing' }, window],
  'of completed jobs that none is like': [{ status: 'completed', job: 'nothing' }, window],
  'of jobs of a worker that has run none': [{ worker: 'nobody' }, window],
  'of jobs with an error that none has': [{ error: 'nothing' }, window],
  'of cancelled jobs': [{ status: 'cancelled' }, window],
};
