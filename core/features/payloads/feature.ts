/** Keeps payloads that are too large for the queue in a payload store. */

import { door } from '../../base/lazy.ts';
import type { Step } from '../../kernel/attempt/attempt.ts';
import type { Feature } from '../feature.ts';

const code = door(() => import('./attempt.ts'));

export const offloaded = {
  for: ({ envelope }) => envelope?.claim != null,
  run: (it, next) => code(({ load }) => load(it, next)),
  settle: (it, end, next) => code(({ drop }) => drop(it, end, next)),
} satisfies Step;

export const payloads = {
  load: offloaded,
  end: { payload: offloaded },
} satisfies Feature;
