/** The job of the features, for the thread that runs it. */

import { defineJob } from '../../../core/index.ts';

interface Work {
  readonly label: string;
}

export const work = defineJob({
  name: 'work',
  payload: {
    '~standard': {
      version: 1,
      vendor: 'longshore',
      validate: (value: unknown) => ({ value: value as Work }),
    },
  },
  // The effect happens outside of the thread, where the world can see it.
  handle: (payload: unknown) => payload,
});
