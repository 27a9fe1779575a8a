/** The record of a job, on queues that keep none themselves. */

import type { Feature } from '../feature.ts';
import { recorded, recordedAfterCommit } from './attempt.ts';

export const records = {
  run: { record: recorded },
  end: { 'record after commit': recordedAfterCommit, record: recorded },
} satisfies Feature;
