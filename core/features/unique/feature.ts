/** Unique jobs and debounce: one job replaces several calls. */

import { door } from '../../base/lazy.ts';
import type { Feature } from '../feature.ts';
import { needsOfUnique } from './needs.ts';

const code = door(() => import('./send.ts'));

export const unique = {
  needs: needsOfUnique,
  uniqueness: {
    ask: async (...asked) => code(({ askUnique }) => askUnique(...asked)),
    send: async (...sent) => code(({ sendUnique }) => sendUnique(...sent)),
  },
} satisfies Feature;
