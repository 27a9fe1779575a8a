/** The last lines that a handler has logged, added to the report of its attempt. */

import { mostLines } from '../../base/most-lines.ts';
import type { EndStep } from './attempt.ts';
import type { Logged, Run } from './run.ts';

export function log(run: Run, line: Logged): void {
  run.lines ??= [];
  if (run.lines.push(line) > mostLines) run.lines.shift();
}

export const logged = {
  for: ({ run }) => run.lines !== null,

  async settle({ run }, end, next) {
    const { linesOf } = await import('./log-lines.ts'); // with the first attempt that has logged
    return next({ ...end, report: { ...end.report, log: linesOf(run.lines!) } });
  },
} satisfies EndStep;
