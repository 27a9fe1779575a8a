/** The last lines that a handler has logged, added to the report of its attempt. */

import { mostLines } from '../base/most-lines.ts';
import type { EndStep } from './attempt.ts';
import type { Logged, Run } from './run.ts';

/** With the first attempt that has logged. */
const load = () => import('./log-lines.ts');

export function log(run: Run, line: Logged): void {
  run.lines ??= [];
  if (run.lines.push(line) > mostLines) run.lines.shift();
}

export const logged = {
  for: ({ run }) => run.lines !== null,

  async settle({ run }, end, next) {
    const { textOf } = await load();
    const lines = run.lines!.map((line) => ({ at: line.at, text: textOf(line) }));
    return next({ ...end, report: { ...end.report, log: lines } });
  },
} satisfies EndStep;
