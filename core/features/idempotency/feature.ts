/** A job with an idempotency key is done once. */

import type { Feature } from '../feature.ts';
import { guarded } from './attempt.ts';

export const idempotency = {
  run: { key: guarded },
  end: { key: guarded },
} satisfies Feature;
