/** The same with a job that runs by cron: what knows patterns is not for the worker to load. */

import { defineSchedule } from '../../../../core/index.ts';
import { functionsWith, job } from './functions.ts';

const nightly = defineSchedule({
  name: 'nightly',
  cron: '0 2 * * *',
  timezone: 'Europe/Berlin',
  job,
  payload: null,
});
export const { worker, enqueue, schedule } = functionsWith([nightly]);
