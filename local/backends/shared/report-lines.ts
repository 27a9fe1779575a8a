/** Reports of attempts as one text: a line of JSON each, appended and never read back to be changed. */

import type { AttemptReport } from '../../../core/contract/outcome.ts';

export function reportLine(report: AttemptReport | undefined): string {
  return report ? `${JSON.stringify(report)}\n` : '';
}

export function reportsIn(lines: string | null): AttemptReport[] {
  return (lines ?? '')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AttemptReport);
}
