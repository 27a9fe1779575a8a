/** The last lines that a handler has logged, added to the report of its attempt. */

import { door } from '../../base/lazy.ts';
import type { EndStep } from '../../kernel/attempt/attempt.ts';
import type { Feature } from '../feature.ts';

const code = door(() => import('./log-lines.ts'));

const logged: EndStep = {
  for: ({ run }) => run.lines !== null,
  settle: ({ run }, end, next) =>
    code(({ linesOf }) => next({ ...end, report: { ...end.report, log: linesOf(run.lines!) } })),
};

export const logs = { name: 'logs', end: { log: logged } } satisfies Feature;
