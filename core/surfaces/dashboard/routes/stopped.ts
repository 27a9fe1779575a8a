import { stoppedJobs } from '../../../features/limits/stopped-jobs.ts';
import type { StoppedView } from '../api.ts';
import type { Endpoint, Run } from '../call.ts';
import { change } from './change.ts';
import { knownName, noLimits } from './find.ts';

export const listStopped: Run = async ({ client }) => {
  if (!client.stores.limits) return noLimits(client.backend.name);
  return (await stoppedJobs(client)) satisfies StoppedView[];
};

const jobIn = ({ client }: Endpoint, given: string): string =>
  knownName('job', given, [...client.app.jobs.keys()]);

export const pauseJob: Run = change(jobIn, async ({ jobs }, name) => {
  await jobs.pause(name);
  return { message: `${name} is paused: running jobs end, and within 5 s no other begins.` };
});

export const resumeJob: Run = change(jobIn, async ({ jobs }, name) => {
  await jobs.resume(name);
  return { message: `${name} goes on: its jobs that wait come now.` };
});

export const closeBreaker: Run = change(jobIn, async ({ jobs }, name) => {
  await jobs.closeBreaker(name);
  return { message: `The failures of ${name} are forgotten: its jobs that wait come now.` };
});
