/** Handlers in a thread or process of their own. */

import { door } from '../../base/lazy.ts';
import type { Feature } from '../feature.ts';

const code = door(() => import('./run-isolated.ts'));
let isUsed = false;

export const sandbox = {
  isolate(...attempt) {
    isUsed = true;
    return code(({ runIsolated }) => runIsolated(...attempt));
  },
  closing: async ({ app }) => {
    if (isUsed) await code(({ endIsolates }) => endIsolates(app));
  },
} satisfies Feature;
