/** The attempts of one job, as `jobs show` and `dead show` print them. */

import { errorText } from '../../../core/base/failure.ts';
import type { AttemptReport } from '../../../core/contract/outcome.ts';
import type { StoredPayload } from '../../../core/kit/records/payload.ts';
import { type Column, span, type Ui, type Under, when } from '../output/ui.ts';

/** Leaves out columns without a value. @param most the job's highest number of attempts; `null` = not known */
export function attemptsTable(attempts: readonly AttemptReport[], most: number | null, ui: Ui): string {
  if (attempts.length === 0) return '';
  const columns: readonly Column<AttemptReport>[] = [
    { title: most === null ? 'run' : `run of ${most}`, align: 'right', value: (row) => String(row.attempt) },
    { title: 'started', value: (row) => when(row.startedAt) },
    { title: 'took', align: 'right', value: (row) => span(row.endedAt - row.startedAt) },
    { title: 'worker', value: (row) => row.worker ?? '' },
    { title: 'host', value: (row) => row.host ?? '', least: 100 },
    {
      title: 'outcome',
      value: (row) => row.outcome,
      style: (row) => (row.outcome === 'acked' ? 'green' : 'yellow'),
    },
  ];
  const telling = columns.filter(({ value }) => attempts.some((row) => value(row) !== ''));
  return ui.table(attempts, telling, errorUnder);
}

const errorUnder: Under<AttemptReport> = {
  text: ({ error }) => errorText(error),
  style: () => 'red',
  whole: true,
};

/** Leaves out stack and log, which are too long for a list. */
export function withoutStack({ error, log: _, ...report }: AttemptReport) {
  return { ...report, error: error && { code: error.code, message: error.message } };
}

export function payloadText({ value, offloaded }: StoredPayload): string {
  if (offloaded === null) return JSON.stringify(value);
  const where = `${offloaded.bytes} bytes in the payload store, under ${offloaded.key}`;
  return value === null ? where : `${JSON.stringify(value)} (${where})`;
}
