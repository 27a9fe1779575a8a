import type { Scenario } from '../types.ts';
import { flowControl } from './flow-control.ts';
import { singleJobs } from './single-jobs.ts';
import { workTogether } from './work-together.ts';

export const scenarios: readonly Scenario[] = [...singleJobs, ...flowControl, ...workTogether];
