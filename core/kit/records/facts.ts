/** Makes the members of a record from the facts and reports that stores keep. */

import { mostLines } from '../../base/most-lines.ts';
import type { AttemptReport, MessageFacts } from '../../contract/outcome.ts';
import type { JobRecord } from '../../contract/store.ts';

type Facts = Pick<
  JobRecord,
  'name' | 'idempotencyKey' | 'schedule' | 'requestId' | 'traceparent' | 'chain' | 'maxAttempts' | 'attempts'
>;

/**
 * The members of a record that come from facts and reports.
 *
 * @param facts as sent, or as JSON
 * @param reports the last `mostAttempts`, in order
 */
export function factsFrom(
  facts: MessageFacts | string | null | undefined,
  reports: readonly AttemptReport[],
): Facts {
  const said: MessageFacts = (typeof facts === 'string' ? JSON.parse(facts) : facts) ?? {};
  const { name = null, idempotencyKey = null, schedule = null, requestId = null, traceparent = null } = said;
  const maxAttempts = reports.findLast((report) => report.maxAttempts !== undefined)?.maxAttempts ?? null;
  const attempts = withLastLines(reports);
  const { chain } = said;
  return {
    ...{ name, idempotencyKey, schedule, requestId, traceparent, maxAttempts, attempts },
    ...(chain && { chain }),
  };
}

/** The reports, with the last `mostLines` log lines of them all. */
export function withLastLines(reports: readonly AttemptReport[]): readonly AttemptReport[] {
  let room = mostLines;
  let kept: AttemptReport[] | null = null;
  for (let i = reports.length - 1; i >= 0; i--) {
    const { log, ...report } = reports[i]!;
    if (log === undefined) continue;
    if (log.length > room) {
      kept ??= [...reports];
      kept[i] = room > 0 ? { ...report, log: log.slice(-room) } : report;
    }
    room = Math.max(0, room - log.length);
  }
  return kept ?? reports;
}
