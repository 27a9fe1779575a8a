/** What becomes of a job's steps when an attempt ends. */

import type { EndStep } from './attempt.ts';

export const remembered = {
  for: ({ run }) => run.steps !== null,
  settle: async (it, end, next) => (await import('../../features/steps/settle.ts')).leave(it, end, next),
} satisfies EndStep;
