/** The steps that attempts pass, from left to right on the way in: each where it has to stand for what it promises. */

import { timely } from './admit.ts';
import type { EndStep, RunStep } from './attempt.ts';
import { batched } from './batched.ts';
import { chained } from './chained.ts';
import { guarded } from './guarded.ts';
import { limited } from './limited.ts';
import { logged } from './logged.ts';
import { offloaded } from './offloaded.ts';
import { paused } from './paused.ts';
import { pinged } from './pinged.ts';
import { recorded, recordedAfterCommit } from './recorded.ts';
import { remembered } from './remembered.ts';
import { transactional } from './transactional.ts';

export const beforeTheCheck: readonly RunStep[] = [timely, offloaded];

// A job at its limit holds no key, and has not begun. What a key says was done is handed on as well.
export const aroundTheRun: readonly RunStep[] = [
  paused,
  limited,
  chained,
  guarded,
  recorded,
  transactional,
  pinged,
];

export const aroundTheEnd: readonly EndStep[] = [
  remembered,
  limited,
  pinged,
  batched,
  logged,
  offloaded,
  recordedAfterCommit,
  guarded,
  recorded,
  transactional,
];
